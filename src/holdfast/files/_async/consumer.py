"""One who reads the files of a feed."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Final

from ...core.clock import Deadline, Duration, to_timeout_s
from ...core.concurrency._async.waiting import seen_through
from .feed_file import AsyncFeedFile
from .feed_store import AsyncFeedStore
from .session import AsyncSession


class AsyncConsumer:
    """One of the consumers of a feed: in one process, or in several that share its files.

    Made by `AsyncFileFeed.consumer`.

    Attributes:
        name: as the feed knows it.
    """

    def __init__(self, store: AsyncFeedStore, name: str) -> None:
        self.name: Final = name
        self._store = store

    def __repr__(self) -> str:
        return f"AsyncConsumer({self._store.name!r}, {self.name!r})"

    async def files(self, *, timeout: Duration | None = None) -> AsyncIterator[AsyncFeedFile]:
        """The files of the feed that are left for this consumer, in the order of publishing.

        Use each in a `with` block: at its end the file is done with; on an exception it is given
        back, and comes again, here or at another. A file may be read before it is published whole.
        Ends when the feed is sealed and all its files are done with; a feed that nobody has begun
        is waited for.

        Args:
            timeout: seconds to wait for the next file; 0: only what is there; None: for ever.

        Raises:
            FilesMissed: some were dropped, because nothing was heard of the consumer for so long,
                or because they had failed too often, and their room was needed.
            FilesFailed: the feed is sealed, and only files are left that failed too often.
            FeedAborted: somebody ended it.
            FeedLost: the server lost it.
            UnknownConsumer: it is none of this feed's.
        """
        timeout_s = to_timeout_s(timeout)
        session = AsyncSession(self._store, self.name)
        try:
            while (assignment := await session.next(Deadline(timeout_s))) is not None:
                yield AsyncFeedFile(self._store, session, assignment, session.asked_at)
        finally:
            await seen_through(session.close())
