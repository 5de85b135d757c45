"""`holdfast fsck`: check that the keys of a namespace are consistent."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from ..inspect.formats import counted
from .commands import Commands
from .connection import with_client
from .findings import exit_with, layout_title, print_title, summary
from .output import AsJson, print_block, print_json, print_line, untrusted, warn

if TYPE_CHECKING:
    from .. import Holdfast

app: Final = Commands()


@app.command(example="holdfast fsck --namespace shop")
@with_client()
def fsck(hf: Holdfast, as_json: AsJson = False) -> None:
    """Check that the keys of a namespace are consistent; it only reads.

    Applications may keep running: a key that looks wrong is read again before it is
    reported. The exit code is 0 if all is consistent, 5 if there are keys that Holdfast
    does not know, and 6 if something is damaged.
    """
    report = hf.audit()
    for damage in report.damages:
        if as_json:
            print_json(damage)
            continue
        unit = f"{damage.kind} {damage.name!r}: " if damage.kind else ""
        print_title(damage.level, f"{unit}{damage.what}")
        print_block(untrusted(f"  {damage.key}"))
    if not report.complete:
        warn(f"these are the first {len(report.damages):,}; there is more")
    levels = [damage.level for damage in report.damages]
    if not as_json:
        read = f"{counted(report.keys, 'key')} in {counted(report.units, 'unit')}"
        found = summary(levels, nothing="all consistent")
        layout = layout_title(report.layout)
        print_line(f"namespace {hf.namespace}, {layout}: {read}: {found}")
    exit_with(levels)
