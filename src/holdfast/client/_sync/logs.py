# Generated from _async/logs.py by tools/unasync.py: edit that, then run `make sync`.
"""Files and tallies of a client."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from ...core._sync.catalog import LISTED
from ...core.clock import Duration
from .opening import Opening

if TYPE_CHECKING:
    from ...files._sync.feed import FileFeed
    from ...files.options import Mode
    from ...tallies._sync.tally import Tally


class Logs(Opening):
    """The blocks for logs; see `Holdfast`."""

    # Files

    def file_feed(
        self,
        name: str,
        *,
        consumers: Iterable[str] | None = None,
        budget: int | None = None,
        mode: Mode | None = None,
        lease: Duration | None = None,
    ) -> FileFeed:
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
        from holdfast.files._sync.feed import FileFeed
        from holdfast.files._sync.feed_store import FeedStore
        from holdfast.files.keys import KIND
        from holdfast.files.options import FeedOptions

        options = FeedOptions.checked(consumers, budget, mode, lease)
        unit = self._namespace.unit(KIND, name)
        return FileFeed(
            FeedStore(self._caller, self._notifier, self._renewer, self._catalog, unit, options)
        )

    def file_feeds(self, *, limit: int = LISTED) -> list[str]:
        """Names of the feeds that were published to within the month.

        Args:
            limit: how many at most, up to the 10,000 that are remembered.
        """
        from holdfast.files.keys import KIND

        return self._catalog.every(KIND, limit)

    # Tallies

    def tally(self, name: str) -> Tally:
        """The tally called *name*: how many lines there were, by day and dimension."""
        from holdfast.tallies._sync.tally import Tally
        from holdfast.tallies.keys import KIND

        unit = self._namespace.unit(KIND, name)
        return Tally(self._caller, self._catalog, unit)

    def tallies(self, *, limit: int = LISTED) -> list[str]:
        """Names of the tallies that were counted for within the month, in order.

        *limit* as of `file_feeds`.
        """
        from holdfast.tallies.keys import KIND

        return sorted(self._catalog.every(KIND, limit))
