"""`holdfast fsck`: whether everything in a namespace fits together."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Final

import typer
from rich.text import Text

from .codes import WARNED, WRONG
from .connection import Embedded, Namespace, Url, connected
from .help import Commands
from .output import AsJson, counted, say, show, show_json, stranger, warn

if TYPE_CHECKING:
    from .. import Damage

app = Commands()

CODES: Final = {"error": WRONG, "warning": WARNED}
STYLES: Final = {"error": "bold red", "warning": "bold yellow"}


@app.command()
def fsck(
    url: Url = None,
    embedded: Embedded = None,
    namespace: Namespace = "holdfast",
    as_json: AsJson = False,
) -> None:
    """Look at every key of a namespace, and tell what does not fit together; it only reads.

    Applications may go on meanwhile: what looks wrong is looked at again.
    The exit code is 0 if all fits, 5 if there are keys of others, and 6 if something is damaged.
    """
    with connected(url, embedded, namespace, create=False) as hf:
        report = hf.audit()
    for damage in report.damages:
        if as_json:
            show_json(damage)
        else:
            _show(damage)
    if not report.complete:
        warn(f"these are the first {len(report.damages):,}; there is more")
    if not as_json:
        looked = f"{counted(report.keys, 'key')} in {counted(report.units, 'unit')}"
        say(f"namespace {namespace}: {looked}: {_summary(report.damages)}")
    raise typer.Exit(max((CODES[damage.level] for damage in report.damages), default=0))


def _show(damage: Damage) -> None:
    where = f"{damage.kind} {damage.name!r}: " if damage.kind else ""
    line = Text.assemble(
        (damage.level, STYLES[damage.level]), " ", stranger(f"{where}{damage.what}")
    )
    show(line)
    show(stranger(f"  {damage.key}"))


def _summary(damages: tuple[Damage, ...]) -> str:
    """As in `1 error, 2 warnings`."""
    levels: Counter[str] = Counter(damage.level for damage in damages)
    said = [counted(levels[level], level) for level in CODES if levels[level]]
    return ", ".join(said) or "everything fits"
