"""Files, of any size, from publishers to consumers."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Final

from ...core.checks import checked_int
from ...core.clock import Duration, to_timeout_s
from ...core.concurrency._async.waiting import in_thread
from ...core.names import encode_name
from ...core.script import Script
from ...errors import (
    DamagedFile,
    DefinitionConflict,
    FileDiffers,
    InvalidName,
    NotDefined,
    StillPublishing,
    UnknownConsumer,
)
from ..chunk import Codec, checked_codec
from ..file_status import FileStatus
from ..folders import walked
from ..options import FeedOptions, checked_budget, checked_lease
from ..source import (
    MAX_UNPACKED,
    Packing,
    Readable,
    Source,
    encoded_name,
    packing_of,
    published_name,
)
from ..states import FeedStatus, PublishedFile, PublishedFolder
from ..upload import Upload
from .consumer import AsyncConsumer
from .feed_store import AsyncFeedStore
from .publisher import AsyncFilePublisher

SEAL: Final = Script.load("holdfast.files", "seal")
ABORT: Final = Script.load("holdfast.files", "abort")
RETRY: Final = Script.load("holdfast.files", "retry")
REDEFINE: Final = Script.load("holdfast.files", "redefine")

MOST_LISTED: Final = 1000

_REDEFINE_TRIES: Final = 10

Progress = Callable[[str, int], object]
"""Told the name of a file and how many of its bytes are published."""


class AsyncFileFeed:
    """Sends files through the server to its consumers: every byte, in order, checked.

    Bytes are kept in the memory of the server until the consumers are done with them, and never
    more than the budget: a publisher waits for room, consumers read while it publishes. Publishing
    is harmless to repeat, and goes on where it was: by name and content, so it takes no `op_id`.

    Made by `AsyncHoldfast.file_feed`.
    """

    def __init__(self, store: AsyncFeedStore) -> None:
        self._store = store

    def __repr__(self) -> str:
        return f"AsyncFileFeed({self._store.name!r})"

    @property
    def name(self) -> str:
        """Of the feed."""
        return self._store.name

    async def publish(
        self,
        source: str | os.PathLike[str] | Readable,
        *,
        name: str | None = None,
        timeout: Duration | None = None,
        compress: Codec | None = "zlib",
        unpack: bool = True,
        max_unpacked: int = MAX_UNPACKED,
        on_progress: Progress | None = None,
    ) -> PublishedFile:
        """Send a file whole, as long as it is now.

        Consumers may read it while it is sent. When this was interrupted, call it again: it reads
        the file anew and sends what is missing. A file that is there already is not sent again.

        Args:
            source: a path, or a file object opened for reading bytes, which must have a *name*.
            name: on the feed, any text up to 1,024 bytes; by default the last part of the path.
                A `.gz` or `.zst` that is unpacked goes from its end.
            timeout: seconds to wait for room at a time; 0: not at all; None: for ever.
            compress: how it is compressed on the server: `zlib`, `zstd` (Python 3.14 or the extra
                `zstd`, here and at the consumers) or None.
            unpack: whether a file that is called `.gz` or `.zst` is unpacked on the way.
            max_unpacked: bytes that it may unpack to.
            on_progress: called with the name and how many bytes are published.

        Raises:
            BudgetExceeded: there was no room in time; says who holds it up.
            DamagedFile: it shrank while it was read, or does not unpack; consumers are told too.
            FileDiffers: another file of that name was published.
            FeedSealed, FeedAborted, FeedLost: the feed takes it no more.
            FeedCrowded: the feed has 100,000 files.
            NotDefined: nobody has said what the feed is to be.
            ModuleNotFoundError: Zstandard is not installed.
            OSError: the file cannot be read.
        """
        checked_codec(compress)
        if name is None:
            if not isinstance(source, str | os.PathLike):
                raise ValueError("a file object must be published under a name: give name=…")
            name = Path(source).name
        packing = packing_of(name) if unpack else None
        stored = encoded_name(published_name(name, packing))
        timeout_s = to_timeout_s(timeout)

        def opened() -> Upload:
            return Upload(Source(source, packing, max_unpacked), compress)

        return await self._publish(stored, opened, timeout_s, on_progress)

    async def _publish(
        self,
        stored: bytes,
        opened: Callable[[], Upload],
        timeout_s: float | None,
        on_progress: Progress | None,
    ) -> PublishedFile:
        """Send what *opened* opens under the *stored* name."""
        upload = await in_thread(opened)
        try:
            publishing = AsyncFilePublisher(self._store, stored, upload, timeout_s, on_progress)
            published = await publishing.run()
        finally:
            await in_thread(upload.close)
        await self._store.note()
        return published

    async def publish_dir(
        self,
        folder: str | os.PathLike[str],
        *,
        timeout: Duration | None = None,
        compress: Codec | None = "zlib",
        unpack: bool = True,
        max_unpacked: int = MAX_UNPACKED,
        on_progress: Progress | None = None,
        follow_links: bool = False,
    ) -> PublishedFolder:
        """Send all regular files in a folder and in the folders within, in order of their names.

        They are called by their paths from *folder* on, with slashes. Links to folders are not
        followed. What cannot be read, is damaged or differs from what was published is told in the
        result, and the others are sent all the same. So is a link to a file outside of *folder*,
        unless *follow_links* is set: who may write to the folder could publish any file by it.

        Args:
            folder: where they are.
            follow_links: whether links to files outside of *folder* are followed.
            timeout, compress, unpack, max_unpacked, on_progress: as in `publish`.

        Raises:
            NotADirectoryError: *folder* is none.
            BudgetExceeded, FeedSealed, FeedAborted, FeedLost, FeedCrowded, NotDefined: as in
                `publish`.
        """
        checked_codec(compress)
        root, within = Path(folder), None if follow_links else Path(folder)
        timeout_s = to_timeout_s(timeout)
        if not await in_thread(root.is_dir):
            raise NotADirectoryError(f"{str(root)!r} is no folder that can be published")
        files: list[PublishedFile] = []
        failed: dict[str, Exception] = {}
        paths = walked(root, failed)
        while (path := await in_thread(next, paths, None)) is not None:
            name = path.relative_to(root).as_posix()
            packing = packing_of(name) if unpack else None

            def opened(path: Path = path, packing: Packing | None = packing) -> Upload:
                return Upload(Source(path, packing, max_unpacked, within), compress)

            try:
                stored = encoded_name(published_name(name, packing))
                files.append(await self._publish(stored, opened, timeout_s, on_progress))
            except (OSError, DamagedFile, FileDiffers, InvalidName, ModuleNotFoundError) as error:
                failed[name] = error
        return PublishedFolder(tuple(files), failed)

    async def seal(self, *, force: bool = False) -> None:
        """Say that no more files come: consumers that have read all of them are done.

        When everybody has read everything, nothing is left of the feed but the word that it is
        over, for an hour. Harmless to repeat.

        Args:
            force: count files as damaged that were begun and not published whole.

        Raises:
            StillPublishing: there are such files, and *force* was not given.
            FeedAborted: somebody ended it.
            NotDefined: there is no such feed.
        """
        problem = "its publisher did not finish it" if force else ""
        reply = await self._store.call(
            SEAL, self._store.packed_options, "", problem, self._store.channel
        )
        if reply[0] == b"still_publishing":
            names = [name.decode(errors="replace") for name in reply[2:]]
            raise StillPublishing(self._store.name, int(reply[1]), names)
        if reply[0] != b"sealed":
            self._store.refuse(reply)

    async def abort(self) -> None:
        """Drop the feed and everything in it; publishers and consumers get `FeedAborted`.

        Harmless to repeat. The name can be used again after an hour.
        """
        reply = await self._store.call(ABORT, b"", "", self._store.channel)
        if reply[0] not in (b"aborted", b"undefined"):
            self._store.refuse(reply)

    def consumer(self, name: str) -> AsyncConsumer:
        """One who reads the feed; asks nobody whether there is one of that name."""
        encode_name(name)
        return AsyncConsumer(self._store, name)

    async def status(self) -> FeedStatus:
        """How the feed stands, and who holds it up."""
        return await self._store.status()

    async def files(self, *, limit: int = 100, failed: bool = False) -> list[FileStatus]:
        """The newest files that somebody has still to read, the newest first.

        Args:
            limit: among how many of those begun last, 1 to 1,000.
            failed: only those that failed so often that they are not handed out until `retry`, of
                all files; at most *limit* of them.
        """
        most = checked_int(limit, "limit", 1, MOST_LISTED)
        return await (self._store.failed_files(most) if failed else self._store.files(most))

    async def retry(self, *, consumer: str | None = None, name: str | None = None) -> int:
        """Hand out files again that failed too often. Harmless to repeat.

        Args:
            consumer: only for this one; None: for all. With `share` it makes no difference.
            name: only the file of this name; None: all files.

        Returns:
            How many there were, counted once for each consumer.

        Raises:
            UnknownConsumer: it is none of this feed's.
            FeedAborted: somebody ended the feed.
            NotDefined: there is no such feed.
        """
        whose = b"" if consumer is None else consumer.encode()
        which = b"" if name is None else encoded_name(name)
        retried, start = 0, b"1"
        while start:
            reply = await self._store.call(RETRY, whose, which, start, self._store.channel)
            if reply[0] == b"unknown_consumer":
                raise UnknownConsumer(self._store.name, str(consumer))
            if reply[0] != b"retried":
                self._store.refuse(reply)
            retried, start = retried + int(reply[1]), reply[2]
        return retried

    async def redefine(self, *, budget: int | None = None, lease: Duration | None = None) -> None:
        """Change settings for everyone.

        Args:
            budget: bytes; less than is used now makes publishers wait. None leaves it as it is.
            lease: seconds; None leaves it as it is.

        Raises:
            NotDefined: there is no such feed.
        """
        if budget is None and lease is None:
            raise ValueError("say what is to change: budget, lease or both")
        size = None if budget is None else checked_budget(budget)
        lease_ms = None if lease is None else checked_lease(lease)
        for _ in range(_REDEFINE_TRIES):
            before = await self._store.definition()
            if before is None:
                raise NotDefined(f"what {self._store.unit} is to be")
            after = FeedOptions(
                before.mode,
                size or before.budget,
                lease_ms or before.lease_ms,
                before.consumers,
            )
            reply = await self._store.replace(REDEFINE, before.packed(), after.packed())
            if reply[0] == b"redefined":
                if self._store.options is not None:
                    self._store.options = after
                return
        raise DefinitionConflict(f"the definition of {self._store.unit}", str(before), str(after))
