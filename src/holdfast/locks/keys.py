"""Define every key of a lock or semaphore, and of a fenced value: type, content and lifetime.

All keys of a lock expire after a week without use. Later fences are higher nevertheless, because
they follow the server's clock.
"""

from __future__ import annotations

from ..core.names import Unit

LOCK = "lock"
SEMAPHORE = "semaphore"
RW_LOCK = "rw_lock"
FENCED = "fenced"


def state(unit: Unit) -> str:
    """HASH of the fields below; it expires a week after the last grant or renewal.

    * `limit`: number of permits.
    * `fence`: the latest fence.
    * `uncontended`: id of a holder that took its permit when there was no other client; empty after
      its release. When another client comes, the holder is moved to `holders`, and this field and
      `ends_ms` are removed.
    * `ends_ms`: when the lease of the uncontended holder ends (ms).
    * `unconfirmed`: number of recent grants that waiters did not confirm.
    * `phase`: of a reader-writer lock. `w`: a writer holds the lock, or held it last. Otherwise the
      ticket of the last reader that enters before the next writer.
    * `unconfirmed_ms`: when the last unconfirmed grant was taken back (ms).
    """
    return unit.key("state")


def holders(unit: Unit) -> str:
    """ZSET of the ids of holders, scored by when their lease ends (ms); it expires after a week.

    A waiter that was granted a permit has the id `?id` until it confirms the grant.
    """
    return unit.key("holders")


def wait_queue(unit: Unit) -> str:
    """ZSET of `id channel` of each waiter, scored by rising tickets.

    It expires a week after the last waiter joined.
    """
    return unit.key("wait_queue")


def read_queue(unit: Unit) -> str:
    """ZSET of the readers that wait for a reader-writer lock, as in `wait_queue`."""
    return unit.key("read_queue")


def write_queue(unit: Unit) -> str:
    """ZSET of the writers that wait for a reader-writer lock, as in `wait_queue`."""
    return unit.key("write_queue")


def fenced(unit: Unit) -> str:
    """HASH of `value` (JSON) and `fence`; it never expires."""
    return unit.key("fenced")
