"""`holdfast logs ls`, `show` and `retry`: the state of feeds."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, Final

from rich.table import Table
from rich.text import Text

from ... import NotDefined, UnknownConsumer
from ...inspect.formats import counted, size
from ..connection import fail, with_client
from ..exit_codes import NOT_FOUND
from ..options import argument, option
from ..output import (
    AsJson,
    field_table,
    print_block,
    print_json,
    print_line,
    row_table,
    untrusted,
)
from ..resources import Resource, Row, list_command
from .progress import progress_of

if TYPE_CHECKING:
    from ... import ConsumerStatus, FeedStatus, FileStatus, Holdfast

FEED: Final = "logs"

SHOWN: Final = 20
"""Failed files that `show` prints, the newest."""

Feed = Annotated[str, option("NAME", "Name of the feed.")]


def _read(hf: Holdfast, name: str) -> FeedStatus | None:
    status = hf.file_feed(name).status()
    return None if status.state == "undefined" else status


def _rows(status: FeedStatus) -> Iterator[Row]:
    yield "state", status.state
    yield "mode", str(status.mode)
    yield "memory", f"{size(status.used)} of {size(status.budget)}"
    yield "files", f"{counted(status.files, 'file')}, {status.publishing:,} being published"
    yield "to be read", counted(status.left, "file")
    if status.failed:
        yield "failed", f"{counted(status.failed, 'file')}; try again: holdfast logs retry"
    yield "bytes", size(status.bytes)
    yield "held up by", ", ".join(status.holders) or "-"


FEEDS: Final = Resource["FeedStatus"](
    noun="feed",
    key="name",
    names=lambda hf: hf.file_feeds(),
    read=_read,
    columns={
        "state": lambda status: status.state,
        "files": lambda status: f"{status.files:,}",
        "to be read": lambda status: f"{status.left:,}",
        "failed": lambda status: Text(f"{status.failed:,}", "red" if status.failed else ""),
        "memory": lambda status: f"{size(status.used)} of {size(status.budget)}",
        "slowest": lambda status: progress_of(status) or "-",
    },
    left=("state", "slowest"),
    rows=_rows,
    recent="published to last",
)

ls: Final = list_command("List the feeds: files, memory, and the slowest consumer.", FEEDS)


@with_client()
def show_feed(hf: Holdfast, feed: Feed = FEED, as_json: AsJson = False) -> None:
    """Show one feed, how far its consumers are, and which one is the slowest.

    The exit code is 3 if there is no such feed.
    """
    status = FEEDS.find(hf, feed)
    failed = hf.file_feed(feed).files(limit=SHOWN, failed=True) if status.failed else []
    if as_json:
        print_json(status)
        return
    print_block(field_table([("feed", feed), *_rows(status)]))
    if status.consumers:
        print_block(_consumer_table(status.consumers))
    if failed:
        print_block(_failure_table(failed))


@with_client()
def retry(
    hf: Holdfast,
    name: Annotated[
        str | None, argument("[FILE]", "Only the file of this name; by default all.")
    ] = None,
    feed: Feed = FEED,
    consumer: Annotated[str | None, option("NAME", "Only for this consumer.")] = None,
    as_json: AsJson = False,
) -> None:
    """Assign files again that failed too often.

    `holdfast logs show` lists them, and why they failed. The exit code is 3 if
    there is no such feed or consumer.
    """
    try:
        retried = hf.file_feed(feed).retry(consumer=consumer, name=name)
    except NotDefined:
        FEEDS.not_found(hf, feed)
    except UnknownConsumer as error:
        fail(str(error), code=NOT_FOUND)
    if as_json:
        print_json({"feed": feed, "retried": retried})
    else:
        print_line(f"{counted(retried, 'file')} of feed {feed} will be handed out again")


def _consumer_table(consumers: tuple[ConsumerStatus, ...]) -> Table:
    def cells(each: ConsumerStatus) -> Iterator[str | Text]:
        yield each.name
        yield Text("yes" if each.alive else "no", "" if each.alive else "red")
        yield f"{each.files:,}"
        yield size(each.bytes)
        yield size(each.behind)
        yield f"{each.damaged:,}"
        yield Text(f"{each.missed:,}", "red" if each.missed else "")

    titles = ("consumer", "alive", "files", "read", "behind", "damaged", "missed")
    return row_table(titles, map(cells, consumers), style="dim")


def _failure_table(files: list[FileStatus]) -> Table:
    table = Table(box=None, header_style="dim", pad_edge=False)
    for column in ("failed file", "for", "reason"):
        table.add_column(column, overflow="fold")
    for file in files:
        consumers = ", ".join(file.failed_for) or "all"
        table.add_row(untrusted(file.name), untrusted(consumers), untrusted(file.reason))
    return table
