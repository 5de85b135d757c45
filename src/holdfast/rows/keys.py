"""Every key of a row cache: type, content and lifetime.

A cache has the key `definition`. The other keys belong to its shards; all keys of a shard are in
one slot. A row is identified by its id as JSON: `42`, `"42"`, `["eu",7]`.
"""

from __future__ import annotations

from ..core.names import Unit

CACHE = "row_cache"
SHARD = "rows"


def definition(unit: Unit) -> str:
    """STRING number of shards of the cache. Expires 400 days after the last use."""
    return unit.key("definition")


def due(unit: Unit) -> str:
    """ZSET scheduled row → when it is due (ms). While the row is loaded, this is the end of its
    lease.

    `due` and `plan` expire 400 days after a refresher last claimed rows or a row was scheduled.
    """
    return unit.key("due")


def plan(unit: Unit) -> str:
    """HASH scheduled row → `EVERY_MS:READ_MS`: the period, and when the row was last read from the
    source. Expires with `due`."""
    return unit.key("plan")


def loads(unit: Unit) -> str:
    """ZSET row that is being loaded → token of the load. The token is the end of its lease (us), or
    larger if that token is taken.

    A load may store a row only while its token is the stored one. The empty member has the latest
    token. Expires ten minutes after the latest lease.
    """
    return unit.key("loads")


def failures(unit: Unit) -> str:
    """HASH row that could not be loaded → `AT_MS:FAILURES:REASON`: time, failures in a row, reason.
    The empty field stands for the whole source, which could not be called. Expires an hour after
    the latest failure.
    """
    return unit.key("failures")


def row(unit: Unit, member: str) -> str:
    """STRING `READ_MS:FRESH_MS:STALE_MS:` and the body: `=` with the encoded row, or `-` if the
    source has no such row.

    - `READ_MS`: when the row was read. `plan` may have a later time.
    - `FRESH_MS`: how long the row is fresh. If the row is scheduled, its period is used instead.
    - `STALE_MS`: how long readers may get the row as stale after that. Then the key expires.
    """
    return unit.key("row:" + member)
