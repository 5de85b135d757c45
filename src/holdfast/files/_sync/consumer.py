# Generated from _async/consumer.py by tools/unasync.py: edit that, then run `make sync`.
"""One who reads the files of a feed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from ...core.clock import Deadline, Duration, to_timeout_s
from ...core.concurrency._sync.waiting import seen_through
from .feed_file import FeedFile
from .feed_store import FeedStore
from .session import Session


class Consumer:
    """One of the consumers of a feed: in one process, or in several that share its files.

    Made by `FileFeed.consumer`.

    Attributes:
        name: as the feed knows it.
    """

    def __init__(self, store: FeedStore, name: str) -> None:
        self.name: Final = name
        self._store = store

    def __repr__(self) -> str:
        return f"Consumer({self._store.name!r}, {self.name!r})"

    def files(self, *, timeout: Duration | None = None) -> Iterator[FeedFile]:
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
        session = Session(self._store, self.name)
        try:
            while (assignment := session.next(Deadline(timeout_s))) is not None:
                yield FeedFile(self._store, session, assignment, session.asked_at)
        finally:
            seen_through(session.close())
