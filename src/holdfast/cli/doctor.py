"""`holdfast doctor`: what is wrong, or may go wrong, with the servers."""

from __future__ import annotations

from collections import Counter
from contextlib import suppress
from typing import TYPE_CHECKING, Final

import typer
from rich.text import Text

from .. import ServerRefused
from .codes import WARNED, WRONG
from .connection import Embedded, Namespace, Url, connected
from .help import Commands
from .output import AsJson, counted, fields, say, show, show_json, stranger

if TYPE_CHECKING:
    from .. import Finding

app = Commands()

CODES: Final = {"error": WRONG, "warning": WARNED, "note": 0}
STYLES: Final = {"error": "bold red", "warning": "bold yellow", "note": "bold cyan"}


@app.command()
def doctor(
    url: Url = None,
    embedded: Embedded = None,
    namespace: Namespace = "holdfast",
    as_json: AsJson = False,
) -> None:
    """Find what is wrong, or may go wrong, with the servers; each with a remedy.

    It looks at settings, versions, clocks, slowness, and what this user may do; it changes nothing.
    The exit code is 0 if none is worse than a note, 5 with warnings, and 6 with errors.
    """
    with connected(url, embedded, namespace, create=False) as hf:
        found, of = hf.diagnose(), ""
        with suppress(ServerRefused):  # who may not ask them has a finding that says so
            of = f"{counted(len(hf.servers()), 'server')}: "
    for finding in found:
        if as_json:
            show_json(finding)
        else:
            _show(finding)
    if not as_json:
        say(f"{of}{_summary(found)}")
    raise typer.Exit(max((CODES[finding.level] for finding in found), default=0))


def _show(finding: Finding) -> None:
    where = f"{finding.server}: " if finding.server else ""
    head = Text.assemble(
        (finding.level, STYLES[finding.level]), " ", stranger(f"{where}{finding.title}")
    )
    show(head)
    show(fields([("  why", finding.why), ("  do", finding.command)]))


def _summary(found: list[Finding]) -> str:
    """As in `1 error, 2 warnings`."""
    levels: Counter[str] = Counter(finding.level for finding in found)
    said = [counted(levels[level], level) for level in CODES if levels[level]]
    return ", ".join(said) or "nothing to complain about"
