# Generated from _async/consumer.py by tools/unasync.py: edit that, then run `make sync`.
"""Provide the public class of consumers of a feed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from ...core.clock import Deadline, Duration, to_timeout_s
from ...core.concurrency._sync.cancellation import shielded
from .feed_file import FeedFile
from .feed_store import FeedStore
from .session import Session


class Consumer:
    """Represent a consumer of a feed. Several processes may use the same consumer: they share its
    files.

    Made by `FileFeed.consumer`.

    Attributes:
        name: name of the consumer in the feed.
    """

    def __init__(self, store: FeedStore, name: str) -> None:
        self.name: Final = name
        self._store = store

    def __repr__(self) -> str:
        return f"Consumer({self._store.name!r}, {self.name!r})"

    def files(self, *, timeout: Duration | None = None) -> Iterator[FeedFile]:
        """Yield the files that this consumer has not finished, in the order of publishing.

        Use each file in a `with` block. The end of the block acknowledges the file. On an exception
        the file is given back and assigned again, to this process or to another. A file may be read
        before it is published whole. The iteration ends when the feed is sealed and all its files
        are finished. It also waits for a feed that has not begun.

        Args:
            timeout: seconds to wait for the next file; 0: do not wait; None: no limit.

        Raises:
            FilesMissed: The feed dropped files to make room, because the consumer did not renew its
                lease, or because the files had failed too often.
            FilesFailed: The feed is sealed, and all remaining files failed too often.
            FeedAborted: The feed was aborted.
            FeedLost: The server lost the feed.
            UnknownConsumer: The feed has no such consumer.
        """
        timeout_s = to_timeout_s(timeout)
        session = Session(self._store, self.name)
        try:
            while (assignment := session.next(Deadline(timeout_s))) is not None:
                yield FeedFile(self._store, session, assignment, session.asked_at)
        finally:
            shielded(session.close())
