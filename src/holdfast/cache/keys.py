"""Define every key of cached functions: type, content and lifetime.

The values of a function are spread over 64 units of the kind `values`, so that a cluster shares
them. The name of such a unit is the name of the function, `/`, and a number. The keys of one value
end in the version of the function and the arguments, as in `1:[42]`: the canonical JSON of the
arguments, or `#` and its digest if it is long.

An *epoch* is a number that only grows: the server's microseconds at which it was set, or one more
than before. A value stores the epochs that were current when it began to be computed. It is valid
only while all of them are unchanged, so a new epoch invalidates all values at once.
"""

from __future__ import annotations

from ..core.names import Unit

FUNCTION = "cached"
"""Kind of the unit of a cached function."""

SHARD = "values"
"""Kind of the units among which the values of a function are divided."""

TAG = "tag"
"""Kind of the unit of a tag."""

SHARDS = 64

KEPT_MS = 30 * 86_400 * 1000
"""Milliseconds for which a function stays listed after its last use."""


def definition(unit: Unit) -> str:
    """STRING the options of a function, as JSON, for operators. It expires 30 days after the last
    use."""
    return unit.key("definition")


def statistics(unit: Unit) -> str:
    """HASH hour of the day → the hour since 1970, and what processes counted in it; 24 fields. It
    expires 30 days after the last use."""
    return unit.key("statistics")


def epoch(unit: Unit) -> str:
    """STRING the epoch of a tag, or of the values in a unit `values`.

    It lives at least as long as the values. If the server loses it, all values are invalid, and the
    next value that is computed sets a new epoch.
    """
    return unit.key("epoch")


def value(unit: Unit, text: str) -> str:
    """STRING a value: when it was stored (ms, 8 bytes), then the version of this format, flags and
    the number of epochs (1 byte each), how long it is fresh, when it is refreshed, and how long it
    may be served as stale after that (10 ms, 4 bytes each), the epochs (8 bytes each), and the
    encoded result. It expires when it may not be served any more.
    """
    return unit.key(f"value:{text}")


def load(unit: Unit, text: str) -> str:
    """STRING `TOKEN|EPOCHS` while one process computes the value; it expires at the end of the
    lease. `!TOKEN|REASON` for five seconds after the function failed."""
    return unit.key(f"load:{text}")
