"""Keep results in the memory of this process (`near=` of a cached function). No I/O."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from typing import Any, Final

from ..core.names import Namespace, Unit
from ..core.near.cache import Addresses, Dependency, KeyLocation, NearCache
from ..core.near.cache import Reading as NearReading
from ..core.near.guard import clock
from ..core.near.marks import Marks
from ..core.near.registry import NearCaches
from . import keys
from .call_key import CallKey
from .replies import Loaded
from .result_format import ResultFormat
from .stored_value import StoredValue

_UNCHANGEABLE: Final = frozenset([str, int, float, bool, type(None), bytes])
"""Types of results that all callers may share, because they cannot be changed."""


class NearResult:
    """A fresh result in memory.

    Args:
        flags: how *body* is encoded; not compressed, because its size must be known.
        body: the encoded result.
    """

    __slots__ = ("body", "flags", "loaded")

    def __init__(self, flags: int, body: bytes) -> None:
        self.flags: int = flags
        self.body: bytes = body
        self.loaded: Loaded | None = None


class NearResults:
    """The results of one function in the memory of this process.

    Args:
        near: the near cache of the function.
        tags: records changes of the tags, for the near caches of all functions.
        namespace: namespace of the function.
        unit: one of its units of values.
        results: decodes results.
    """

    def __init__(
        self, near: NearCache, tags: Marks, namespace: Namespace, unit: Unit, results: ResultFormat
    ) -> None:
        self.near = near
        self.find_stored: Callable[[str, float], Any] = near.find
        self._tags = tags
        self._results = results
        self._prefix = value_prefix(unit)
        self._tag_prefix = tag_prefix(namespace)
        self._skip = len(self._prefix)

    def find(self, key: CallKey) -> Loaded | None:
        """Return the result of a call; None if it may not be served from memory."""
        found: NearResult | None = self.find_stored(key.near or self.name(key), clock())
        if found is None:
            return None
        return found.loaded or self.loaded(found)

    def loaded(self, found: NearResult) -> Loaded | None:
        """Return the decoded result; None if it cannot be decoded."""
        body = found.body
        if found.loaded is not None:  # Another thread has set it, and then removed the body.
            return found.loaded
        loaded = self._results.loaded(body, found.flags)
        # An exception is not shared, because each raise of it adds to its traceback.
        if (
            loaded is not None
            and loaded.error is None
            and (self.near.near.share or type(loaded.value) in _UNCHANGEABLE)
        ):
            found.loaded, found.body = loaded, b""  # in this order
        return loaded

    def name(self, key: CallKey) -> str:
        """Return the name of a value in memory, and store it in `key.near`."""
        key.near = key.value[self._skip :]
        return key.near

    def reading(self, wanted: Sequence[CallKey], addresses: Addresses) -> NearReading:
        """Return a context for reading values from the server. `keep` stores them in memory only if
        they have not changed since the context began."""
        locations = {}
        others = {}
        for key in wanted:
            location = KeyLocation(key.unit, self._prefix)
            name = key.near or self.name(key)
            locations[name] = location
            others[name] = [Dependency(location, key.guards[0][self._skip :], self.near.marks)]
            for unit, guard in zip(key.tags, key.guards[1:], strict=True):
                tag = KeyLocation(unit, self._tag_prefix)
                rest = guard.removeprefix(self._tag_prefix)
                others[name].append(Dependency(tag, rest, self._tags))
        return self.near.reading(locations, addresses, others)

    def keep(self, reading: NearReading, key: CallKey, stored: StoredValue | None) -> None:
        """Keep a value, which was read in the context *reading*, in memory until its refresh is
        due."""
        if stored is not None and stored.age_ms < stored.refresh_ms:
            left_s = (stored.refresh_ms - stored.age_ms) / 1000
            name = key.near or self.name(key)
            with suppress(
                ValueError, ModuleNotFoundError
            ):  # The caller logs that the value cannot be decoded.
                found = NearResult(*self._results.unpacked(stored.flags, stored.body))
                reading.put(name, found, len(found.body), left_s)

    def end_epochs(self, units: Iterable[Unit]) -> None:
        """Remove the results that depend on the epochs of *units*, units of this function."""
        for unit in units:
            self.near.changed(keys.epoch(unit)[self._skip :])

    def drop(self, wanted: Iterable[CallKey]) -> None:
        """Remove the results of calls, because this process has changed them."""
        self.near.drop(key.near or self.name(key) for key in wanted)


def end_epochs(caches: NearCaches, namespace: Namespace, units: Iterable[Unit]) -> None:
    """Remove the values that depend on the epochs of *units*, which this process has raised."""
    for unit in units:
        epoch = keys.epoch(unit)
        if unit.kind == keys.TAG:
            caches.tags.changed(epoch.removeprefix(tag_prefix(namespace)))
            continue
        function = namespace.unit(keys.FUNCTION, unit.name.rpartition("/")[0])
        near = caches.find(function)
        if near is not None:
            near.changed(epoch.removeprefix(value_prefix(unit)))


def value_prefix(unit: Unit) -> str:
    """Return the common prefix of the keys of all values of a function; *unit* has some of them."""
    return unit.prefix[: unit.prefix.rindex("/") + 1]


def tag_prefix(namespace: Namespace) -> str:
    """Return the common prefix of the keys of all tags."""
    return f"{namespace.prefix}{{{keys.TAG}:"
