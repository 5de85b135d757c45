"""Every key of a row cache: type, content and lifetime.

The cache has one key, `definition`. Its rows are in shards, each in its own slot. The field or
member for a row is its id as JSON: `42`, `"42"`, `["eu",7]`.
"""

from __future__ import annotations

from ..core.names import Unit

CACHE = "row_cache"
SHARD = "rows"


def definition(unit: Unit) -> str:
    """STRING number of shards of the cache; expires 400 days after the last use."""
    return unit.key("definition")


def due(unit: Unit) -> str:
    """ZSET scheduled rows → when they are due (ms); while a row is loaded, when its lease ends.

    Expires with `plan`, 400 days after a refresher claimed rows or a row was scheduled.
    """
    return unit.key("due")


def plan(unit: Unit) -> str:
    """HASH scheduled rows → `every_ms:read_ms`: the period, and when the row was read last."""
    return unit.key("plan")


def loads(unit: Unit) -> str:
    """ZSET rows that are being loaded → token of the load: when its lease ends (µs), made unique.

    A loader may store a row while its token is here. The empty member holds the latest token.
    Expires ten minutes after the last lease.
    """
    return unit.key("loads")


def failures(unit: Unit) -> str:
    """HASH rows that could not be loaded → `at_ms:failures:reason`. The empty field: the source
    could not be called at all. Expires an hour after the last failure.
    """
    return unit.key("failures")


def row(unit: Unit, member: str) -> str:
    """STRING `read_ms:fresh_ms:stale_ms:` and `=` with the encoded row, or `-` if the source has no
    such row.

    It was read at *read_ms* or, if later, at the time in `plan`. It is fresh for *fresh_ms* (or for
    the period in `plan`), and readers may get it as stale for *stale_ms* more. Then it expires.
    """
    return unit.key("row:" + member)
