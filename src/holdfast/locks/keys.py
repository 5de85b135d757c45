"""Every key of a lock or semaphore, and of a fenced value: type, content and lifetime.

What nobody uses for a week is forgotten; a fence rises all the same, by the server's clock.
"""

from __future__ import annotations

from ..core.names import Unit

LOCK = "lock"
SEMAPHORE = "semaphore"
FENCED = "fenced"


def state(unit: Unit) -> str:
    """HASH of `limit`, `fence` (the latest), `doubts` and `doubted` (silent heirs, the last at ms).

    Who came where nobody was has its place here, as `sole` and when that ends, `ends` (ms); once it
    has gone, `sole` is empty. It is moved to `holders` when somebody else comes.

    It expires a week after the last grant or renewal.
    """
    return unit.key("state")


def holders(unit: Unit) -> str:
    """ZSET of who has a place, scored by when that ends (ms); a week.

    An heir, who was given its place while it waited, stands as `?id` until it gives a sign of life.
    """
    return unit.key("holders")


def line(unit: Unit) -> str:
    """ZSET of `id channel` of those who wait, scored by their ticket, which only grows; a week."""
    return unit.key("line")


def fenced(unit: Unit) -> str:
    """HASH of `value` (JSON) and `fence`. It stays."""
    return unit.key("fenced")
