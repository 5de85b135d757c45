"""`holdfast logs show`: how a feed stands, for people and for scripts."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Table
from rich.text import Text

from ..codes import NOT_FOUND
from ..connection import Embedded, Namespace, Url, connected, fail
from ..output import AsJson, counted, fields, show_json, size, stranger
from ..output import show as show_it

if TYPE_CHECKING:
    from ... import FeedStatus, FileStatus

Feed = Annotated[str, typer.Option("--feed", metavar="NAME", help="Which feed.")]

FEED = "logs"

SHOWN = 20
"""Files that failed too often, the newest."""


def show(
    feed: Feed = FEED,
    url: Url = None,
    embedded: Embedded = None,
    namespace: Namespace = "holdfast",
    as_json: AsJson = False,
) -> None:
    """Show how a feed stands, how far its consumers are, and who holds it up.

    The exit code is 3 if there is no such feed.
    """
    with connected(url, embedded, namespace, create=False) as hf:
        status = hf.file_feed(feed).status()
        failed = hf.file_feed(feed).files(limit=SHOWN, failed=True) if status.failed else []
    if status.state == "undefined":
        fail(f"there is no feed {feed!r}", code=NOT_FOUND)
    if as_json:
        show_json(status)
        return
    show_it(fields(_rows(status)))
    if status.consumers:
        show_it(_consumers(status))
    if failed:
        show_it(_failed(failed))


def _rows(status: FeedStatus) -> Iterator[tuple[str, str]]:
    yield "feed", status.name
    yield "state", status.state
    yield "mode", str(status.mode)
    yield "memory", f"{size(status.used)} of {size(status.budget)}"
    yield "files", f"{counted(status.files, 'file')}, {status.publishing:,} being published"
    yield "to be read", counted(status.left, "file")
    if status.failed:
        yield "failed", f"{counted(status.failed, 'file')}; try again: holdfast logs retry"
    yield "bytes", size(status.bytes)
    yield "held up by", ", ".join(status.holders) or "-"


def _consumers(status: FeedStatus) -> Table:
    """A consumer on each line."""
    table = Table(box=None, header_style="dim", pad_edge=False)
    table.add_column("consumer", overflow="fold")
    for column in ("alive", "files", "read", "behind", "damaged", "missed"):
        table.add_column(column, justify="right", no_wrap=True)
    for each in status.consumers:
        table.add_row(
            stranger(each.name),
            Text("yes" if each.alive else "no", "" if each.alive else "red"),
            f"{each.files:,}",
            size(each.bytes),
            size(each.behind),
            f"{each.damaged:,}",
            Text(f"{each.missed:,}", "red" if each.missed else ""),
        )
    return table


def _failed(files: list[FileStatus]) -> Table:
    """A file that failed too often on each line."""
    table = Table(box=None, header_style="dim", pad_edge=False)
    for column in ("failed file", "for", "reason"):
        table.add_column(column, overflow="fold")
    for file in files:
        who = ", ".join(file.failed_for) or "all"
        table.add_row(stranger(file.name), stranger(who), stranger(file.reason))
    return table
