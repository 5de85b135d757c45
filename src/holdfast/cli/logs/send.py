"""`holdfast logs send`: publish a folder to a feed."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ... import DamagedFile, DefinitionConflict, NotDefined
from ...inspect.formats import counted, size
from ..connection import argument_errors, fail, with_client
from ..exit_codes import FAILED, WRONG_USAGE
from ..options import argument, flag, option
from ..output import AsJson, print_json, print_line, printable, warn
from .feed import FEED, Feed
from .progress import send_progress

if TYPE_CHECKING:
    from ... import FileFeed, Holdfast, PublishedFolder

MIB = 2**20


def _folder(folder: Path) -> Path:
    """Return *folder*. End the command if it is not a folder."""
    if not folder.is_dir():
        fail(f"{str(folder)!r} is no folder", code=WRONG_USAGE)
    return folder


@with_client(create=True)
def send(
    hf: Holdfast,
    folder: Annotated[Path, argument("DIR", "The folder, with its subfolders.", callback=_folder)],
    feed: Feed = FEED,
    to: Annotated[
        list[str] | None, option("CONSUMER", "A consumer that gets every file. Repeatable.")
    ] = None,
    share: Annotated[bool, flag("Each file goes to one consumer only.", "--share")] = False,
    budget: Annotated[
        int | None, option("MIB", "Server memory that the feed may use.", min=1)
    ] = None,
    timeout: Annotated[
        float | None,
        option("SECONDS", "How long to wait for memory; the default is no limit.", min=0),
    ] = None,
    compress: Annotated[
        bool, flag("Whether chunks are compressed.", "--compress/--no-compress")
    ] = True,
    follow_links: Annotated[
        bool, flag("Also send links to files outside of the folder.", "--follow-links")
    ] = False,
    keep_open: Annotated[
        bool, flag("Do not seal the feed: more files will come.", "--keep-open")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Send all files of a folder to the consumers of a feed.

    Files called .gz or .zst are unpacked. If it is interrupted, run it again:
    it continues where it was. The exit code is 1 if a file could not be sent
    whole; the others are sent. Of a damaged file the consumers get the good
    part, and learn of the damage. If a file could not be sent at all, the feed
    stays open for another try.
    """
    with argument_errors(), _definition_errors():
        target = _feed(hf, feed, to, share, budget)
        with send_progress(target, folder, quiet=as_json) as progress:
            result = target.publish_dir(
                folder,
                timeout=timeout,
                compress="zlib" if compress else None,
                on_progress=progress.report,
                follow_links=follow_links,
            )
        # Seal the feed despite damaged files: another try would find the same damage, and the
        # consumers learn of it.
        settled = all(isinstance(error, DamagedFile) for error in result.failed.values())
        if settled and not keep_open:
            target.seal()
    _print(feed, result, as_json=as_json, sealed=settled and not keep_open)
    if not settled and not keep_open:
        warn(f"feed {printable(feed)} is not sealed: fix the files above, and run this again")
    if result.failed:
        raise typer.Exit(FAILED)


@contextmanager
def _definition_errors() -> Iterator[None]:
    """End the command on wrong settings, with what to do in a shell."""
    try:
        yield
    except NotDefined:
        fail("the feed is new: give its consumers with --to CONSUMER, or --share", code=WRONG_USAGE)
    except DefinitionConflict as error:
        fail(
            f"the feed is defined as {error.stored}, not as {error.given}: "
            "leave out --to, --share and --budget to use the stored settings",
            code=WRONG_USAGE,
        )


def _feed(
    hf: Holdfast, name: str, to: list[str] | None, share: bool, budget: int | None
) -> FileFeed:
    """Return the feed, defined with the settings of the command line."""
    if to is None and not share:
        if budget is not None:
            fail("--budget needs the consumers too: --to or --share", code=WRONG_USAGE)
        return hf.file_feed(name)
    settings: dict[str, Any] = {"on_conflict": "error"}
    if budget is not None:
        settings["budget"] = budget * MIB
    return hf.file_feed(name, consumers=to, mode="share" if share else "broadcast", **settings)


def _print(feed: str, result: PublishedFolder, *, as_json: bool, sealed: bool) -> None:
    for name, error in result.failed.items():
        warn(f"{printable(name)}: {error}")
    if as_json:
        failed = {name: str(error) for name, error in result.failed.items()}
        sent = sum(file.sent for file in result.files)
        numbers = {"files": len(result.files), "sent": sent, "bytes": result.size, "failed": failed}
        print_json({"feed": feed, **numbers, "sealed": sealed})
        return
    known = len(result.files) - sum(file.sent for file in result.files)
    before = f" ({known:,} of them were there before)" if known else ""
    files = counted(len(result.files), "file")
    print_line(f"{files}{before}, {size(result.size)}, in feed {feed}{', sealed' * sealed}")
