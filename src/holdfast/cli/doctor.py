"""`holdfast doctor`: find what is wrong, or may go wrong, with the servers."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Annotated, Final

from .. import ServerUnavailable
from ..inspect.formats import counted
from .commands import Commands
from .connection import with_client
from .findings import exit_with, layout_title, print_title, summary
from .options import flag
from .output import AsJson, field_table, print_block, print_json, print_line

if TYPE_CHECKING:
    from .. import Holdfast

app: Final = Commands()


@app.command(example="holdfast doctor --url redis://localhost:6379")
@with_client()
def doctor(
    hf: Holdfast,
    near: Annotated[bool, flag("Check the rights for near caches, too.")] = False,
    as_json: AsJson = False,
) -> None:
    """Find what is wrong, or may go wrong, with the servers; each with a remedy.

    It reads settings, versions, clocks, latencies, and the rights of this user;
    it changes nothing. The exit code is 0 if nothing is worse than a note, 5
    with warnings, and 6 with errors.
    """
    findings, servers = hf.diagnose(near=near), ""
    with suppress(ServerUnavailable):  # a finding reports a missing right, or a node that is away
        servers = f"{counted(len(hf.servers()), 'server')}, {layout_title(hf.layout_version())}: "
    for finding in findings:
        if as_json:
            print_json(finding)
            continue
        server = f"{finding.server}: " if finding.server else ""
        print_title(finding.level, f"{server}{finding.title}")
        print_block(field_table([("  why", finding.why), ("  do", finding.command)]))
    levels = [finding.level for finding in findings]
    if not as_json:
        print_line(f"{servers}{summary(levels, nothing='no findings')}")
    exit_with(levels)
