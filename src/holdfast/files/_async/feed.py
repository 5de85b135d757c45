"""Provide the public class of file feeds: publish files; seal, abort and inspect a feed."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Final

from ...core.checks import checked_int
from ...core.clock import Duration, to_timeout_s
from ...core.compression import Compression, checked_compression
from ...core.concurrency._async.user_calls import in_thread
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
from ..file_reader import (
    MAX_UNPACKED,
    FileReader,
    Packing,
    Readable,
    encoded_name,
    packing_of,
    published_name,
)
from ..file_status import FileStatus
from ..folders import walked
from ..options import FeedOptions, checked_budget, checked_lease
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
"""Maximum *limit* of `files`."""

_REDEFINE_TRIES: Final = 10

Progress = Callable[[str, int], object]
"""Called with the name of a file and the number of its unpacked bytes published so far."""


class AsyncFileFeed:
    """Send files to the consumers of a feed. They get every byte, in order, and verified.

    The server keeps the bytes in memory until the consumers have finished them, but never more than
    the budget. If the budget is used up, publishers wait. Consumers can read a file while it is
    published. Publishing is harmless to repeat and continues where it ended, because a file is
    identified by its name and content. So there is no `op_id`.

    Made by `AsyncHoldfast.file_feed`.
    """

    def __init__(self, store: AsyncFeedStore) -> None:
        self._store = store

    def __repr__(self) -> str:
        return f"AsyncFileFeed({self._store.name!r})"

    @property
    def name(self) -> str:
        """Return the name of the feed."""
        return self._store.name

    async def publish(
        self,
        source: str | os.PathLike[str] | Readable,
        *,
        name: str | None = None,
        timeout: Duration | None = None,
        compress: Compression | None = "zlib",
        unpack: bool = True,
        max_unpacked: int = MAX_UNPACKED,
        on_progress: Progress | None = None,
    ) -> PublishedFile:
        """Send a whole file, up to the size that it has at the call.

        Consumers may read the file while it is sent. After an interruption, call this method again:
        it reads the file from the beginning and sends only the missing chunks. A file that was
        published before is not sent again.

        Args:
            source: a path, or a file object opened for reading bytes. A file object needs *name*.
            name: name on the feed, any text up to 1,024 bytes; by default the last part of the
                path. If the file is unpacked, the suffix `.gz` or `.zst` is removed.
            timeout: longest wait in seconds each time that the budget is used up; 0: do not wait;
                None: no limit.
            compress: how the chunks are compressed: `zlib`, None (not at all), or `zstd`, which
                needs Python 3.14 or the extra `zstd`, also at the consumers.
            unpack: whether a file with the suffix `.gz` or `.zst` is unpacked.
            max_unpacked: maximum number of unpacked bytes.
            on_progress: called with the name and the number of published bytes.

        Raises:
            BudgetExceeded: The budget stayed used up for *timeout*. The error names the consumers
                that need the oldest bytes.
            DamagedFile: The file shrank while it was read, or cannot be unpacked. Its consumers get
                the same error.
            FileDiffers: Another file was published under this name.
            FeedSealed, FeedAborted, FeedLost: The feed accepts no more files.
            FeedCrowded: The feed has 100,000 files, or 1,000 of them are being published.
            NotDefined: The feed has no definition yet.
        """
        checked_compression(compress)
        if not isinstance(source, str | os.PathLike) and not hasattr(source, "read"):
            raise TypeError(
                f"give a path as str or Path, or a file object, got {type(source).__name__}"
            )
        if name is None:
            if not isinstance(source, str | os.PathLike):
                raise ValueError("a file object must be published under a name: give name=…")
            name = Path(source).name
        packing = packing_of(name) if unpack else None
        stored = encoded_name(published_name(name, packing))
        timeout_s = to_timeout_s(timeout)

        def opened() -> Upload:
            return Upload(FileReader(source, packing, max_unpacked), compress)

        return await self._publish(stored, opened, timeout_s, on_progress)

    async def _publish(
        self,
        stored: bytes,
        opened: Callable[[], Upload],
        timeout_s: float | None,
        on_progress: Progress | None,
    ) -> PublishedFile:
        """Call *opened*, which opens the file, and send the file under the name *stored*."""
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
        compress: Compression | None = "zlib",
        unpack: bool = True,
        max_unpacked: int = MAX_UNPACKED,
        on_progress: Progress | None = None,
        follow_links: bool = False,
    ) -> PublishedFolder:
        """Send all regular files in a folder and in its subfolders, in order of their names.

        Their names are their paths below *folder*, with slashes. Links to folders are not followed.
        A file that cannot be read, is damaged, or differs from the one published under its name
        does not stop the others: the result contains its error. A link to a file outside of
        *folder* is such an error, unless *follow_links* is set.

        Args:
            folder: the folder.
            follow_links: whether to follow links to files outside of *folder*. Then any user who
                may write to the folder can publish any file that this process can read.
            timeout, compress, unpack, max_unpacked, on_progress: as in `publish`.

        Raises:
            NotADirectoryError: *folder* is not a folder.
            BudgetExceeded, FeedSealed, FeedAborted, FeedLost, FeedCrowded, NotDefined: as in
                `publish`.
        """
        checked_compression(compress)
        root, within = Path(folder), None if follow_links else Path(folder)
        timeout_s = to_timeout_s(timeout)
        if not await in_thread(root.is_dir):
            raise NotADirectoryError(f"{str(root)!r} is not a folder that can be published")
        files: list[PublishedFile] = []
        failed: dict[str, Exception] = {}
        paths = walked(root, failed)
        while (path := await in_thread(next, paths, None)) is not None:
            name = path.relative_to(root).as_posix()
            packing = packing_of(name) if unpack else None

            def opened(path: Path = path, packing: Packing | None = packing) -> Upload:
                return Upload(FileReader(path, packing, max_unpacked, within), compress)

            try:
                stored = encoded_name(published_name(name, packing))
                files.append(await self._publish(stored, opened, timeout_s, on_progress))
            except (OSError, DamagedFile, FileDiffers, InvalidName, ModuleNotFoundError) as error:
                failed[name] = error
        return PublishedFolder(tuple(files), failed)

    async def seal(self, *, force: bool = False) -> None:
        """Declare the feed complete, so that consumers end when they have finished all files.

        When all consumers have finished all files, the feed is deleted. Only its state stays for an
        hour. This call is harmless to repeat.

        Args:
            force: whether to mark files that are not published whole as damaged.

        Raises:
            StillPublishing: Some files are not published whole, and *force* was not given.
            FeedAborted: The feed was aborted.
            NotDefined: There is no such feed.
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
        """Delete the feed with all its files. Publishers and consumers get `FeedAborted`.

        The name can be used again after an hour. This call is harmless to repeat.
        """
        reply = await self._store.call(ABORT, b"", "", self._store.channel)
        if reply[0] not in (b"aborted", b"undefined"):
            self._store.refuse(reply)

    def consumer(self, name: str) -> AsyncConsumer:
        """Return the consumer called *name*, without a call to the server."""
        encode_name(name)
        return AsyncConsumer(self._store, name)

    async def status(self) -> FeedStatus:
        """Return the status of the feed, with the consumers that still need the oldest bytes."""
        return await self._store.status()

    async def files(self, *, limit: int = 100, failed: bool = False) -> list[FileStatus]:
        """Return files that at least one consumer has not finished, the newest first.

        Args:
            limit: 1 to 1,000. Without *failed*, the number of newest files that are checked; with
                *failed*, the number of files that are returned.
            failed: whether to return only files that failed so often that they are not assigned
                until `retry`.
        """
        most = checked_int(limit, "limit", 1, MOST_LISTED)
        return await (self._store.failed_files(most) if failed else self._store.files(most))

    async def retry(self, *, consumer: str | None = None, name: str | None = None) -> int:
        """Allow files that failed too often to be assigned again. Harmless to repeat.

        Args:
            consumer: the consumer that gets the files; None: all consumers. With `share` it has no
                effect.
            name: name of the file; None: all files.

        Returns:
            The number of files, counted once for each consumer.

        Raises:
            UnknownConsumer: The feed has no such consumer.
            FeedAborted: The feed was aborted.
            NotDefined: There is no such feed.
        """
        packed_consumer = b"" if consumer is None else consumer.encode()
        packed_name = b"" if name is None else encoded_name(name)
        retried, start = 0, b"1"
        while start:
            reply = await self._store.call(
                RETRY, packed_consumer, packed_name, start, self._store.channel
            )
            if reply[0] == b"unknown_consumer":
                raise UnknownConsumer(self._store.name, str(consumer))
            if reply[0] != b"retried":
                self._store.refuse(reply)
            retried, start = retried + int(reply[1]), reply[2]
        return retried

    async def redefine(self, *, budget: int | None = None, lease: Duration | None = None) -> None:
        """Change options of the feed.

        Args:
            budget: new budget in bytes; None: unchanged. Publishers wait while more is in use.
            lease: new lease in seconds; None: unchanged.

        Raises:
            NotDefined: There is no such feed.
        """
        if budget is None and lease is None:
            raise ValueError("give budget, lease or both")
        size = None if budget is None else checked_budget(budget)
        lease_ms = None if lease is None else checked_lease(lease)
        for _ in range(_REDEFINE_TRIES):
            before = await self._store.definition()
            if before is None:
                raise NotDefined(f"the definition of {self._store.unit}")
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
