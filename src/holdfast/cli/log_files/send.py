"""`holdfast logs send`: publish a folder to a feed."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ... import DamagedFile, DefinitionConflict, NotDefined
from ..codes import FAILED, WRONG_USAGE
from ..connection import Embedded, Namespace, Url, connected, fail
from ..output import AsJson, counted, printable, say, show_json, size, warn
from .progress import watched
from .standing import FEED, Feed

if TYPE_CHECKING:
    from ... import FileFeed, Holdfast, PublishedFolder

MIB = 2**20


def send(
    folder: Annotated[
        Path, typer.Argument(metavar="DIR", help="The folder; with the folders within.")
    ],
    feed: Feed = FEED,
    to: Annotated[
        list[str] | None,
        typer.Option("--to", metavar="CONSUMER", help="Who gets every file; may be repeated."),
    ] = None,
    share: Annotated[
        bool, typer.Option("--share", help="Each file goes to one of the consumers.")
    ] = False,
    budget: Annotated[
        int | None,
        typer.Option(metavar="MIB", min=1, help="Memory of the server that may be used."),
    ] = None,
    timeout: Annotated[
        float | None,
        typer.Option(metavar="SECONDS", min=0, help="How long to wait for room; else for ever."),
    ] = None,
    compress: Annotated[
        bool, typer.Option("--compress/--no-compress", help="Whether chunks are compressed.")
    ] = True,
    follow_links: Annotated[
        bool, typer.Option("--follow-links", help="Also links to files outside of the folder.")
    ] = False,
    keep_open: Annotated[
        bool, typer.Option("--keep-open", help="More files will come: do not seal the feed.")
    ] = False,
    url: Url = None,
    embedded: Embedded = None,
    namespace: Namespace = "holdfast",
    as_json: AsJson = False,
) -> None:
    """Send all files of a folder to the consumers of a feed.

    What is called .gz or .zst is unpacked on the way. Interrupted, do it
    again: it goes on where it was. The exit code is 1 if a file could not be
    sent whole; the others are. Of one that is damaged the consumers get what
    is good, and are told; if one could not be sent at all, the feed is left
    open for another try.
    """
    if not folder.is_dir():
        fail(f"{str(folder)!r} is no folder", code=WRONG_USAGE)
    with connected(url, embedded, namespace) as hf, _settings_told():
        target = _feed(hf, feed, to, share, budget)
        with watched(target, folder, quiet=as_json) as progress:
            result = target.publish_dir(
                folder,
                timeout=timeout,
                compress="zlib" if compress else None,
                on_progress=progress.told,
                follow_links=follow_links,
            )
        # Who reads is told of damage, and another try would find the same.
        settled = all(isinstance(error, DamagedFile) for error in result.failed.values())
        if settled and not keep_open:
            target.seal()
    _tell(feed, result, as_json, sealed=settled and not keep_open)
    if not settled and not keep_open:
        warn(f"feed {printable(feed)} is not sealed: see to the files above, and do it again")
    if result.failed:
        raise typer.Exit(FAILED)


@contextmanager
def _settings_told() -> Iterator[None]:
    """Wrong settings end the command with what can be done from a shell."""
    try:
        yield
    except NotDefined:
        fail("the feed is new: say who gets the files, --to CONSUMER, or --share", code=WRONG_USAGE)
    except DefinitionConflict as error:
        fail(
            f"the feed is known as {error.stored}, not as {error.given}: "
            "leave --to, --share and --budget out to take what is known",
            code=WRONG_USAGE,
        )


def _feed(
    hf: Holdfast, name: str, to: list[str] | None, share: bool, budget: int | None
) -> FileFeed:
    """The feed, with the settings that were given, if any were."""
    if to is None and not share:
        if budget is not None:
            fail("with --budget say also who gets the files: --to or --share", code=WRONG_USAGE)
        return hf.file_feed(name)
    settings: dict[str, Any] = {} if budget is None else {"budget": budget * MIB}
    return hf.file_feed(name, consumers=to, mode="share" if share else "broadcast", **settings)


def _tell(feed: str, result: PublishedFolder, as_json: bool, *, sealed: bool) -> None:
    """What became of it."""
    for name, error in result.failed.items():
        warn(f"{printable(name)}: {error}")
    if as_json:
        failed = {name: str(error) for name, error in result.failed.items()}
        sent = sum(file.sent for file in result.files)
        told = {"files": len(result.files), "sent": sent, "bytes": result.size, "failed": failed}
        show_json({"feed": feed, **told, "sealed": sealed})
        return
    there = len(result.files) - sum(file.sent for file in result.files)
    before = f" ({there:,} of them were there)" if there else ""
    files = counted(len(result.files), "file")
    say(f"{files}{before}, {size(result.size)}, in feed {feed}{', sealed' if sealed else ''}")
