"""Every key of a row cache: type, content and lifetime.

The cache itself has a definition; its rows lie in shards, each in a slot of its own. Rows are
called by their ids as JSON: `42`, `"42"`, `["eu",7]`.
"""

from __future__ import annotations

from ..core.names import Unit

CACHE = "row_cache"
SHARD = "rows"


def definition(unit: Unit) -> str:
    """STRING how many shards the cache has; expires 400 days after the last use."""
    return unit.key("definition")


def due(unit: Unit) -> str:
    """ZSET scheduled rows → when they are due (ms); while one is loaded, when its lease ends.

    Expires with `plan`, 400 days after the last refresher looked or the last row was scheduled.
    """
    return unit.key("due")


def plan(unit: Unit) -> str:
    """HASH scheduled rows → `every_ms:read_ms`: the period, and when it was last seen to be so."""
    return unit.key("plan")


def loads(unit: Unit) -> str:
    """ZSET rows that are loaded now → token of the load: when its lease ends (µs), made unique.

    Who loads may store while the token stands. The empty member holds the latest token. It expires
    a while after the last lease.
    """
    return unit.key("loads")


def failures(unit: Unit) -> str:
    """HASH rows that could not be loaded → `at_ms:failures:why`; empty: all of them. Expires."""
    return unit.key("failures")


def row(unit: Unit, member: str) -> str:
    """STRING `read_ms:fresh_ms:stale_ms:` and `=` with the encoded row, or `-`: there is none.

    It was read at *read_ms* or, if later, when `plan` says; it is fresh for *fresh_ms* (or the
    period in `plan`), and for *stale_ms* more it is better than nothing. Then it expires.
    """
    return unit.key("row:" + member)
