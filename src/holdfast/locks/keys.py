"""Every key of a lock or semaphore, and of a fenced value: type, content and lifetime.

A lock that is not used for a week is forgotten. Its fences rise all the same: they follow the
server's clock.
"""

from __future__ import annotations

from ..core.names import Unit

LOCK = "lock"
SEMAPHORE = "semaphore"
FENCED = "fenced"


def state(unit: Unit) -> str:
    """HASH of the fields below; it expires a week after the last grant or renewal.

    * `limit`: how many permits there are.
    * `fence`: the latest fence.
    * `uncontended` and `ends_ms`: the holder that came when there was no other client, and when its
      lease ends. `uncontended` is empty once it has released. When another client comes, the holder
      moves to `holders`, and both fields are removed.
    * `unconfirmed` and `unconfirmed_ms`: how many grants to waiters were not confirmed, and when
      the last of them ended.
    """
    return unit.key("state")


def holders(unit: Unit) -> str:
    """ZSET of the holders, scored by when their lease ends (ms); it expires after a week.

    A permit that was granted to a waiter is held by `?id` until the waiter confirms the grant.
    """
    return unit.key("holders")


def wait_queue(unit: Unit) -> str:
    """ZSET of `id channel` of the waiters, scored by rising tickets; it expires after a week."""
    return unit.key("wait_queue")


def fenced(unit: Unit) -> str:
    """HASH of `value` (JSON) and `fence`. It stays."""
    return unit.key("fenced")
