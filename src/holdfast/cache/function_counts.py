"""Count what happens to the calls of a function, and present the counts of all processes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, Protocol

import msgspec

from ..core.stored import MAX_EXACT, decoding, stored_int

COUNTS: Final = (
    "near", "hits", "stale", "misses", "loads", "failures", "refreshes", "direct", "load_ms",
    "stores", "bytes", "byte_seconds",
)  # fmt: skip
"""The counts of a function in the order in which the server stores them."""

RESULTS: Final = {
    "near": "memory",
    "hits": "hit",
    "stale": "stale",
    "misses": "miss",
    "direct": "direct",
}
"""Count of calls → the result that telemetry reports."""

FLUSH_S: Final = 10.0
"""Seconds after which a process reports its counts to the server."""

OVERHEAD: Final = 160
"""Approximate bytes of memory that a value takes beside its body: its key and its head."""


class FunctionCounts:
    """The counts of one process about one function that it has not reported yet.

    Counting takes no lock: if threads count at the same moment, a count may be lost.

    Attributes:
        near: calls answered from the memory of the process.
        hits: calls answered with a fresh value from the server.
        stale: calls answered with a stale value.
        misses: calls that found no usable value.
        loads: calls of the function, to fill the cache.
        failures: calls of the function that failed.
        refreshes: loads in the background.
        direct: calls of the function without the cache, because the server was not available.
        load_ms: duration of all loads.
        stores: values that were stored.
        bytes: size of these values.
        byte_seconds: the sum of their sizes, each multiplied by the life of the value (s).
    """

    __slots__ = (*COUNTS, "since")

    load_ms: int
    stores: int
    bytes: int
    byte_seconds: int

    def __init__(self, since: float) -> None:
        self.since = since
        self.near = self.hits = self.stale = self.misses = 0
        self.loads = self.failures = self.refreshes = self.direct = 0
        self.load_ms = self.stores = self.bytes = self.byte_seconds = 0

    def stored(self, size: int, life_ms: int) -> None:
        """Count a value that was stored."""
        self.stores += 1
        self.bytes += size
        self.byte_seconds += (size + OVERHEAD) * life_ms // 1000

    def values(self) -> list[int]:
        """Return the counts in the order of `COUNTS`."""
        return [getattr(self, name) for name in COUNTS]


class CountedFunction(Protocol):
    """A function with counts that are reported.

    Attributes:
        name: name of the function.
        counts: the counts of this process since its last report to the server.
    """

    name: str
    counts: FunctionCounts

    @property
    def definition(self) -> FunctionDefinition:
        """Return the options that operators see."""


class CachedFunctionStatus(msgspec.Struct, frozen=True, kw_only=True):
    """What all processes have counted about a cached function in the latest 24 hours.

    Processes report every 10 seconds while the function is used, so the counts are a little late.

    Attributes:
        name: name of the function.
        version: version of the function.
        ttl: seconds for which results are fresh; None: a function decides for each result.
        stale: seconds after `ttl` for which results may be served as stale.
        refresh: seconds after which results are refreshed in the background; None: never.
        near: calls answered from the memory of the process.
        hits: calls answered with a fresh value from the server.
        stale_hits: calls answered with a stale value.
        misses: calls that found no usable value.
        loads: calls of the function, to fill the cache.
        failures: calls of the function that failed.
        refreshes: loads in the background.
        direct: calls of the function without the cache, because the server was not available.
        load_seconds: mean duration of a load; None if there was none.
        stores: values that were stored.
        stored_bytes: size of these values.
        memory: estimate of the bytes of memory that the values take; too high if values are often
            overwritten or invalidated.
    """

    name: str
    version: int
    ttl: float | None
    stale: float
    refresh: float | None
    near: int
    hits: int
    stale_hits: int
    misses: int
    loads: int
    failures: int
    refreshes: int
    direct: int
    load_seconds: float | None
    stores: int
    stored_bytes: int
    memory: int

    @property
    def calls(self) -> int:
        """Return the number of calls."""
        return self.near + self.hits + self.stale_hits + self.misses + self.direct

    @property
    def hit_rate(self) -> float | None:
        """Return the fraction of calls that did not wait for the function; None without calls."""
        answered = self.near + self.hits + self.stale_hits
        return answered / self.calls if self.calls else None


class FunctionDefinition(msgspec.Struct, frozen=True):
    """The options of a function that operators see."""

    version: int
    ttl: float | None
    stale: float
    refresh: float | None


def status_of(name: str, reply: Sequence[Any]) -> CachedFunctionStatus | None:
    """Return the status in a reply of `lua/status.lua`; None if the server knows no function.

    Raises:
        DecodeError: another program changed the keys.
    """
    if not reply or not reply[0]:
        return None
    with decoding(f"the statistics of cached function {name!r}"):
        definition = msgspec.json.decode(reply[0], type=FunctionDefinition)
        now_s = stored_int(reply[1], "the time")
        totals, memory = dict.fromkeys(COUNTS, 0), 0
        for entry in reply[2:]:
            hour, *numbers = [stored_int(each, "a count", 0, MAX_EXACT) for each in entry.split()]
            if now_s // 3600 - 24 < hour <= now_s // 3600:
                counts = dict(zip(COUNTS, numbers, strict=True))
                memory += _memory(counts, hour * 3600, now_s)
                for key, count in counts.items():
                    totals[key] += count
        return _status(name, definition, totals, memory)


def _memory(counts: Mapping[str, int], start_s: int, now_s: int) -> int:
    """Return how many of the bytes that were stored in an hour are still stored.

    Assume that they were stored at a constant rate, and that each value lives as long as the
    average.
    """
    size = counts["bytes"] + OVERHEAD * counts["stores"]
    if not size:
        return 0
    end_s = min(start_s + 3600, now_s + 1)
    alive_s = end_s - max(start_s, now_s - counts["byte_seconds"] / size)
    return round(size * max(0.0, alive_s / (end_s - start_s)))


def _status(
    name: str, definition: FunctionDefinition, totals: Mapping[str, int], memory: int
) -> CachedFunctionStatus:
    loads = totals["loads"]
    return CachedFunctionStatus(
        name=name,
        version=definition.version,
        ttl=definition.ttl,
        stale=definition.stale,
        refresh=definition.refresh,
        near=totals["near"],
        hits=totals["hits"],
        stale_hits=totals["stale"],
        misses=totals["misses"],
        loads=loads,
        failures=totals["failures"],
        refreshes=totals["refreshes"],
        direct=totals["direct"],
        load_seconds=totals["load_ms"] / loads / 1000 if loads else None,
        stores=totals["stores"],
        stored_bytes=totals["bytes"],
        memory=memory,
    )
