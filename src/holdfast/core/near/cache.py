"""Keep values of one cache in memory, and serve them while their server would report changes.

A `Guard` (see `guard.py`) decides until when values of a server may be served.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType, TracebackType
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Protocol

from ..clock import to_seconds
from ..concurrency.fork_hooks import register_after_fork
from ..concurrency.semaphore import Mutex
from ..names import Unit
from ..transport.settings import Address
from .guard import NO_GUARD, Guard, clock
from .marks import Mark, Marks
from .options import Near, NearStats
from .store import ENTRY_BYTES, MOST_USES, Entry, NearStore

if TYPE_CHECKING:
    from .tracker import Sink, Tracker


class KeyLocation(NamedTuple):
    """Where the server stores a value.

    Attributes:
        unit: unit of the value's key.
        prefix: prefix of the key; the rest is the value's key in the near cache.
    """

    unit: Unit
    prefix: str


class Dependency(NamedTuple):
    """A further key on which a value depends: if this key changes, the value must not be served.

    Attributes:
        location: where the key is.
        key: the rest of the key after the prefix.
        marks: the `Marks` that note changes of the key.
    """

    location: KeyLocation
    key: str
    marks: Marks


class Addresses(Protocol):
    """Knows the server to which the next call about a unit goes."""

    def address_of(self, unit: Unit) -> Address | None:
        """Return the address of the server of *unit*; None if it is not known yet."""


NO_DEPENDENCIES: Final[Mapping[str, Sequence[Dependency]]] = MappingProxyType({})


class NearCache:
    """Values of one cache in the memory of this process. All threads and loops may use it.

    Args:
        tracker: reports changes, and whether the servers are confirmed.
        near: the options.

    Attributes:
        near: the options.
        marks: note changes of keys with the prefix of the values, because other values may depend
            on these keys.
        server_hits: how many values the users of this object have read from the server.
        loads: how many values they have loaded because the server did not have them.
    """

    def __init__(self, tracker: Tracker, near: Near) -> None:
        self._use(near)
        self.marks: Marks = Marks()
        self.server_hits = self.loads = 0
        self._tracker = tracker
        self._hits = self._unconfirmed = self._stored = self._refused = self._invalidated = 0
        self.after_fork()
        register_after_fork(self)

    def after_fork(self) -> None:
        """Remove all values in a forked child, which has no invalidation connection yet."""
        self._guard = Mutex()
        self._store = NearStore(self.near.max_bytes)
        self._readings: dict[str, set[Reading]] = {}
        self._watched: set[str] = set()

    def find(self, key: str, now: float) -> Any:
        """Return the value of *key*; None if it may not be served from memory. Take no lock.

        Args:
            key: key of the value.
            now: the time by `clock`.
        """
        store = self._store
        entry = store.main.get(key) or store.small.get(key)  # `NearStore.find`, inlined for speed
        if entry is None or now >= entry.until:
            return None
        if now >= entry.guard.until:
            self._unconfirmed += 1
            return None
        for mark in entry.marks:
            if mark.ended:
                return None
        if entry.guards:
            for guard in entry.guards:
                if now >= guard.until:
                    return None
        if entry.uses < MOST_USES:
            entry.uses += 1
        self._hits += 1
        return entry.value

    def reading(
        self,
        locations: Mapping[str, KeyLocation],
        addresses: Addresses,
        others: Mapping[str, Sequence[Dependency]] = NO_DEPENDENCIES,
    ) -> Reading:
        """Return a context in which values are read from the server and may be stored.

        Enter it before the read is sent.

        Args:
            locations: key → where the server stores the value.
            addresses: knows the server that will be asked.
            others: key → other keys on which the value depends.
        """
        for location in locations.values():
            self._watch(location.prefix, self)
        for dependencies in others.values():
            for each in dependencies:
                if each.marks is not self.marks:
                    self._watch(each.location.prefix, each.marks)
        return Reading(self, locations, addresses, others)

    def _watch(self, prefix: str, sink: Sink) -> None:
        if prefix not in self._watched:
            self._watched.add(prefix)
            self._tracker.watch(prefix, sink)

    def drop(self, keys: Iterable[str]) -> None:
        """Remove the values of *keys*, because this process has changed them.

        Call this after the reply to the change, and before the change returns to the user.
        """
        for key in keys:
            self.changed(key)

    def changed(self, key: str) -> None:
        """Remove the value of *key*, and do not store what current readings have read."""
        with self._guard:
            for reading in self._readings.get(key, ()):
                reading.spoilt.add(key)
            if self._store.remove(key):
                self._invalidated += 1
        self.marks.changed(key)

    def guard_ended(self) -> None:
        """Remove the values that were stored under guards that have ended."""
        with self._guard:
            self._store.remove_if(lambda entry: entry.ended)

    def resize(self, near: Near) -> None:
        """Use the options *near* from now on, and evict values that exceed the new maximum."""
        with self._guard:
            self._use(near)
            self._store.resize(near.max_bytes)

    def _use(self, near: Near) -> None:
        self.near = near
        self.max_age_s: float = to_seconds(near.max_age)

    def stats(self) -> NearStats:
        """Return what the cache did in this process."""
        guards = self._tracker.guards
        ages = [guard.staleness_s() for guard in guards]
        known = [age for age in ages if age is not None]
        confirmed = bool(known) and len(known) == len(ages)
        problem = self._tracker.problem
        if not confirmed and not problem:
            problem = "the invalidation connection is not confirmed yet"
        store = self._store
        return NearStats(
            hits=self._hits,
            server_hits=self.server_hits,
            loads=self.loads,
            unconfirmed=self._unconfirmed,
            stored=self._stored,
            refused=self._refused,
            invalidated=self._invalidated,
            evicted=store.evicted,
            entries=len(store),
            bytes=store.bytes,
            max_bytes=store.max_bytes,
            confirmed=confirmed,
            staleness=max(known) if confirmed else None,
            longest_staleness=self._tracker.longest_staleness_s,
            problem="" if confirmed else problem,
        )

    def guard_of(self, location: KeyLocation, address: Address | None) -> Guard:
        """Return the guard for a read of *location* from the server at *address*.

        Return `NO_GUARD` if the server does not report changes, or another server would.
        """
        guard = self._tracker.guard(location.unit.slot)
        usable = guard.address == address is not None and location.prefix in guard.prefixes
        return guard if usable and clock() < guard.until else NO_GUARD

    def begin(self, reading: Reading, keys: Iterable[str]) -> None:
        """Note changes of *keys* in *reading* from now on."""
        with self._guard:
            for key in keys:
                self._readings.setdefault(key, set()).add(reading)

    def end(self, reading: Reading, keys: Iterable[str]) -> None:
        """Stop noting changes of *keys* in *reading*."""
        with self._guard:
            for key in keys:
                readings = self._readings.get(key, set())
                readings.discard(reading)
                if not readings:
                    self._readings.pop(key, None)

    def put(self, reading: Reading, entry: Entry) -> None:
        """Store *entry*, which *reading* has read, unless its key has changed since."""
        with self._guard:
            if entry.key in reading.spoilt or entry.ended:
                self._refused += 1
            elif self._store.add(entry):
                self._stored += 1


class Reading:
    """A read of values from the server. A value is stored only if its key has not changed since.

    Attributes:
        began: when the read began, by `clock`.
        spoilt: keys that have changed since the read began; their values are not stored.
    """

    __slots__ = (
        "_addresses",
        "_cache",
        "_guards",
        "_locations",
        "_marks",
        "_others",
        "began",
        "spoilt",
    )

    def __init__(
        self,
        cache: NearCache,
        locations: Mapping[str, KeyLocation],
        addresses: Addresses,
        others: Mapping[str, Sequence[Dependency]],
    ) -> None:
        self.began: float = 0.0
        self.spoilt: set[str] = set()
        self._cache = cache
        self._locations = locations
        self._addresses = addresses
        self._others = others
        self._guards: dict[str, tuple[Guard, ...]] = {}
        self._marks: dict[str, tuple[Mark, ...]] = {}

    def __enter__(self) -> Reading:
        # First begin to note changes, then look up the guards, so that no change is missed.
        self._cache.begin(self, self._locations)
        try:
            for key in self._locations:
                others = self._others.get(key, ())
                self._marks[key] = tuple(each.marks.mark(each.key) for each in others)
                self._guards[key] = tuple(map(self._guard_of, self._needed(key)))
        except BaseException:
            self._cache.end(self, self._locations)
            raise
        self.began = clock()
        return self

    def _needed(self, key: str) -> Iterator[KeyLocation]:
        """Yield the location of *key*, then those of the other keys on which its value depends."""
        yield self._locations[key]
        for each in self._others.get(key, ()):
            yield each.location

    def _guard_of(self, location: KeyLocation) -> Guard:
        return self._cache.guard_of(location, self._addresses.address_of(location.unit))

    def put(self, key: str, value: Any, size: int, seconds: float) -> None:
        """Store the *value* of *key*, unless it may have changed since the read began.

        Args:
            key: one of the keys of this reading.
            value: the value; readers get this object.
            size: approximate bytes of the value.
            seconds: seconds since `began` for which the value may be served.
        """
        guards = self._guards[key]
        for guard, location in zip(guards, self._needed(key), strict=True):
            # The read may have been sent to another server meanwhile.
            if guard.address is None or guard.address != self._addresses.address_of(location.unit):
                return
        first, *others = dict.fromkeys(guards)
        until = self.began + min(seconds, self._cache.max_age_s)
        size += len(key) + ENTRY_BYTES
        entry = Entry(key, value, until, first, size, self._marks[key], tuple(others))
        self._cache.put(self, entry)

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._cache.end(self, self._locations)
