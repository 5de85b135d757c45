"""Files and tallies of a client."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from ...core._async.catalog import LISTED
from ...core.clock import Duration
from .opening import AsyncOpening

if TYPE_CHECKING:
    from ...files._async.feed import AsyncFileFeed
    from ...files.options import Mode
    from ...tallies._async.tally import AsyncTally


class AsyncLogs(AsyncOpening):
    """The blocks for logs; see `AsyncHoldfast`."""

    # Files

    def file_feed(
        self,
        name: str,
        *,
        consumers: Iterable[str] | None = None,
        budget: int | None = None,
        mode: Mode | None = None,
        lease: Duration | None = None,
    ) -> AsyncFileFeed:
        """The feed called *name*, through which files go to their consumers.

        The server keeps the settings: whoever gives any of them begins the feed with its first call
        (what is not given is as said here), and `DefinitionConflict` tells whoever says otherwise
        later. Give none of them to take what the server has; `NotDefined` if it has nothing.

        Args:
            name: of the feed.
            consumers: their names, up to 100. With `share` none means whoever comes.
            budget: bytes of the server's memory that it may use, 1 MiB to 1 TiB; at first 256 MiB.
            mode: `broadcast`: each file goes to each consumer; `share`: to one of them.
            lease: seconds, at least 1, at first 30: after so long without a sign of life a consumer
                counts as dead. What it held goes to others; in `broadcast` nobody waits for it any
                more, and what it has not read is dropped when the room is needed.
        """
        from holdfast.files._async.feed import AsyncFileFeed
        from holdfast.files._async.feed_store import AsyncFeedStore
        from holdfast.files.keys import KIND
        from holdfast.files.options import FeedOptions

        options = FeedOptions.checked(consumers, budget, mode, lease)
        unit = self._namespace.unit(KIND, name)
        return AsyncFileFeed(
            AsyncFeedStore(
                self._caller, self._notifier, self._renewer, self._catalog, unit, options
            )
        )

    async def file_feeds(self, *, limit: int = LISTED) -> list[str]:
        """Names of the feeds that were published to within the month.

        Args:
            limit: how many at most, up to the 10,000 that are remembered.
        """
        from holdfast.files.keys import KIND

        return await self._catalog.every(KIND, limit)

    # Tallies

    def tally(self, name: str) -> AsyncTally:
        """The tally called *name*: how many lines there were, by day and dimension."""
        from holdfast.tallies._async.tally import AsyncTally
        from holdfast.tallies.keys import KIND

        unit = self._namespace.unit(KIND, name)
        return AsyncTally(self._caller, self._catalog, unit)

    async def tallies(self, *, limit: int = LISTED) -> list[str]:
        """Names of the tallies that were counted for within the month, in order.

        *limit* as of `file_feeds`.
        """
        from holdfast.tallies.keys import KIND

        return sorted(await self._catalog.every(KIND, limit))
