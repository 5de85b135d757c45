"""Which counter goes with what the user counts by."""

from __future__ import annotations

from collections.abc import Callable

from .counted import Counted, Counter
from .geo.key import GeoKey
from .line_counter import LineCounter

Key = GeoKey | Callable[[bytes], Counted | None]


def counter_of(key: Key) -> Counter:
    """A new counter for *key*.

    Raises:
        TypeError: it is no key.
    """
    if isinstance(key, GeoKey):
        from .geo.counter import PlaceCounter

        return PlaceCounter(key)
    if not callable(key):
        raise TypeError(f"key must be a GeoKey or a function of a line, got {key!r}")
    return LineCounter(key)
