"""Store values in memory, bounded in bytes. Evict those that are used least.

The policy is S3-FIFO (Yang, Zhang, Qiu, Yue, Rashmi: "FIFO queues are all you need for cache
eviction", SOSP 2023). New values enter a small queue. Those that are used at least twice before
they reach its end move to the main queue; the others are evicted. So a scan does not displace
values that are used often. A value at the end of the main queue returns to its beginning if it was
used since. The keys that were evicted from the small queue last are remembered: if a value with
such a key is stored again, it enters the main queue at once.

A hit only raises a number in its entry. So readers need no lock, and no queue is reordered.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from typing import Any, Final

from .guard import Guard
from .marks import Mark

ENTRY_BYTES: Final = 640
"""Approximate bytes that an entry needs beside its key and its value."""

MOST_USES: Final = 3
"""Largest number of uses that is counted."""

_SMALL_SHARE: Final = 10
"""The small queue has a tenth of all bytes."""

_LARGEST_SHARE: Final = 8
"""A value that needs more than an eighth of all bytes is not stored."""


class Entry:
    """A value in memory.

    Attributes:
        key: key of the value.
        value: the value.
        until: local time until which the value may be served.
        guard: guard of the server from which the value was read.
        marks: marks of other keys on which the value depends; a mark ends when its key changes.
        guards: guards of the servers of these keys, without `guard`.
        size: approximate bytes.
        uses: number of hits, at most `MOST_USES`; each return to the beginning of the main queue
            lowers it by one.
    """

    __slots__ = ("guard", "guards", "key", "marks", "size", "until", "uses", "value")

    def __init__(
        self,
        key: str,
        value: Any,
        until: float,
        guard: Guard,
        size: int,
        marks: tuple[Mark, ...] = (),
        guards: tuple[Guard, ...] = (),
    ) -> None:
        self.key: str = key
        self.value: Any = value
        self.until: float = until
        self.guard: Guard = guard
        self.size: int = size
        self.marks: tuple[Mark, ...] = marks
        self.guards: tuple[Guard, ...] = guards
        self.uses: int = 0

    @property
    def ended(self) -> bool:
        """Return whether the value may never be served again."""
        ended = any(mark.ended for mark in self.marks)
        return ended or self.guard.ended or any(guard.ended for guard in self.guards)


class NearStore:
    """Values by key, in two queues. Callers hold a lock, except for reading a queue.

    Attributes:
        small: the queue of new entries.
        main: the queue of entries that were used twice in the small one, or were stored again soon
            after it evicted them.
        max_bytes: maximum of `bytes`.
        bytes: approximate bytes of all entries.
        evicted: number of entries that were evicted.
    """

    def __init__(self, max_bytes: int) -> None:
        self.max_bytes: int = max_bytes
        self.evicted: int = 0
        self.clear()

    def __len__(self) -> int:
        return len(self.small) + len(self.main)

    def find(self, key: str) -> Entry | None:
        """Return the entry of *key*; None if there is none. Any thread may call this."""
        return self.main.get(key) or self.small.get(key)

    def clear(self) -> None:
        """Remove all entries."""
        self.small: OrderedDict[str, Entry] = OrderedDict()
        self.main: OrderedDict[str, Entry] = OrderedDict()
        self._ghosts: OrderedDict[int, None] = OrderedDict()  # hashes of evicted keys
        self._small_bytes = 0
        self.bytes: int = 0

    def add(self, entry: Entry) -> bool:
        """Store *entry* in place of one with the same key. Return False if it is too large."""
        self.remove(entry.key)
        if entry.size * _LARGEST_SHARE > self.max_bytes:
            return False
        ghost = hash(entry.key)
        if ghost in self._ghosts:
            del self._ghosts[ghost]
            self.main[entry.key] = entry
        else:
            self.small[entry.key] = entry
            self._small_bytes += entry.size
        self.bytes += entry.size
        while self.bytes > self.max_bytes:
            self._evict()
        return True

    def remove(self, key: str) -> bool:
        """Remove the entry of *key*. Return whether there was one."""
        entry = self.main.pop(key, None)
        if entry is None:
            entry = self.small.pop(key, None)
            if entry is None:
                return False
            self._small_bytes -= entry.size
        self.bytes -= entry.size
        return True

    def resize(self, max_bytes: int) -> None:
        """Change the maximum of `bytes`."""
        self.max_bytes = max_bytes
        while self.bytes > self.max_bytes:
            self._evict()

    def remove_if(self, condition: Callable[[Entry], bool]) -> None:
        """Remove all entries that meet *condition*."""
        for queue in (self.small, self.main):
            for key in [key for key, entry in queue.items() if condition(entry)]:
                self.remove(key)

    def _evict(self) -> None:
        """Evict the oldest entry of a queue, or, if it was used, move it into the main queue."""
        if not len(self):  # An exception has interrupted an earlier change of the numbers.
            self.clear()
            return
        if self.small and (self._small_bytes * _SMALL_SHARE > self.max_bytes or not self.main):
            key, entry = self.small.popitem(last=False)
            self._small_bytes -= entry.size
            if entry.uses > 1:
                entry.uses = 0
                self.main[key] = entry
                return
            self._remember(key)
        else:
            key, entry = self.main.popitem(last=False)
            if entry.uses:
                entry.uses -= 1
                self.main[key] = entry
                return
        self.bytes -= entry.size
        self.evicted += 1

    def _remember(self, key: str) -> None:
        """Remember that *key* was evicted. Remember as many keys as there are entries."""
        self._ghosts[hash(key)] = None
        while len(self._ghosts) > max(len(self), 1):
            self._ghosts.popitem(last=False)
