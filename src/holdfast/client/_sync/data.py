# Generated from _async/data.py by tools/unasync.py: edit that, then run `make sync`.
"""Autocomplete, counters and row caches of a client."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from ...core._sync.catalog import LISTED
from ...core._sync.catalog import MOST as CATALOGUED
from ...core.clock import Duration
from ...core.codec import Codec
from .logs import Logs

if TYPE_CHECKING:
    from ...completions._sync.completions import Completions
    from ...completions._sync.recent import Recent
    from ...counters._sync.buffer import CounterBuffer
    from ...counters._sync.counter import Counter
    from ...rows._sync.row_cache import RowCache
    from ...rows.source import RowSource


class Data(Logs):
    """The blocks for data that is asked for often; see `Holdfast`."""

    # Autocomplete

    def recent(self, name: str, *, limit: int | None = None) -> Recent:
        """The list of recent names called *name*, such as `player:7`.

        Args:
            name: of the list.
            limit: how many it keeps, 1 to 1,000. The server keeps it: the first touch after this
                sets it, and `DefinitionConflict` tells whoever says otherwise later. By default
                what the server has, at first 100.
        """
        from holdfast.completions._sync.recent import Recent
        from holdfast.completions.checks import checked_limit
        from holdfast.completions.keys import RECENT

        unit = self._namespace.unit(RECENT, name)
        return Recent(self._caller, unit, checked_limit(limit))

    def completions(self, name: str) -> Completions:
        """The names to be completed that are called *name*, such as `guild:3`."""
        from holdfast.completions._sync.completions import Completions
        from holdfast.completions.keys import COMPLETIONS

        unit = self._namespace.unit(COMPLETIONS, name)
        return Completions(self._caller, self._catalog, unit)

    def known_completions(self, *, limit: int = LISTED) -> list[str]:
        """What was added to within the month, of all that `completions` names.

        The latest noted first. A hint: it may name some of which every name was removed.

        Args:
            limit: how many at most, up to the 10,000 that are remembered.
        """
        from holdfast.completions.keys import COMPLETIONS

        return self._catalog.every(COMPLETIONS, limit)

    # Counters

    def counter(
        self, name: str, *, precisions: Iterable[int] | None = None, keep: int | None = None
    ) -> Counter:
        """The counter called *name*.

        Args:
            name: of what is counted.
            precisions: seconds of one sample, each; at most 16 of them. The server keeps this and
                *keep*: the first add after this sets them, and `DefinitionConflict` tells whoever
                says otherwise later. By default what the server has, at first 1 s, 5 s, 1 min,
                5 min, 1 h, 5 h and 1 day.
            keep: how many samples of each precision are there at least, up to 1,000; by default
                120.
        """
        from holdfast.counters._sync.counter import Counter
        from holdfast.counters.definition import CounterOptions
        from holdfast.counters.keys import KIND

        options = CounterOptions.checked(precisions, keep)
        unit = self._namespace.unit(KIND, name)
        return Counter(self._caller, self._catalog, unit, options)

    def counter_buffer(self, *, flush_every: Duration = 1.0) -> CounterBuffer:
        """A buffer that adds to counters of this client once in a while; close it, or the client.

        Args:
            flush_every: seconds, at least 0.01; so much is lost when the process is killed.
        """
        from holdfast.counters._sync.buffer import CounterBuffer

        buffer = CounterBuffer(
            self._caller, self._catalog, self.counter, flush_every, self._buffers.discard
        )
        self._buffers.add(buffer)
        return buffer

    def known_counters(self, *, among: int = CATALOGUED, containing: str = "") -> list[str]:
        """Names of the counters, in order; at most 1,000, those added to last.

        A counter is one for as long as it keeps any sample. One that nobody has added to for a
        month is left out all the same, and so is one beyond the 10,000 added to last.

        Args:
            among: how many names it looks at, at most; those noted last.
            containing: look only at names with this text in them, in capitals or not.
        """
        from holdfast.counters._sync.listing import known_counters
        from holdfast.counters.keys import KIND

        names = self._catalog.every(KIND, among, containing)
        return known_counters(self._caller, self._catalog, self._namespace, names)

    # Row caches

    def row_cache(
        self,
        name: str,
        *,
        source: RowSource | None = None,
        shards: int | None = None,
        lease: Duration = 10.0,
        ttl: Duration = 60.0,
        stale_for: Duration = 3600.0,
        codec: Codec | None = None,
        into: Any = Any,
    ) -> RowCache:
        """The row cache called *name*.

        Args:
            name: of the cache.
            source: `SqlRows`, or any object with `load(ids)`; None: this one only reads.
            shards: parts that spread over a cluster, 1 to 256; kept by the server as of a counter.
            lease: seconds a load may take before another process does it; at least 1.
            ttl: seconds a row that nobody scheduled is fresh; an absent one at most 5.
            stale_for: seconds it may be given out after that.
            codec: how rows are stored; None: as the client does.
            into: what they are when they are read, such as a dataclass; by default plain JSON.
        """
        from holdfast.rows._sync.row_cache import RowCache
        from holdfast.rows.options import RowCacheOptions

        options = RowCacheOptions.checked(shards, lease, ttl, stale_for, codec or self._codec, into)
        here = (self._caller, self._notifier, self._catalog, self._namespace)
        return RowCache(*here, name, source=source, options=options)

    def row_caches(self, *, limit: int = LISTED) -> list[str]:
        """Names of the row caches, the latest used first; *limit* as of `known_completions`."""
        from holdfast.rows.keys import CACHE

        return self._catalog.every(CACHE, limit)
