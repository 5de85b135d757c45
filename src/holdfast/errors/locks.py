"""Errors of locks and semaphores."""

from __future__ import annotations

from datetime import datetime

from .base import HoldfastError


class LockTimeout(HoldfastError, TimeoutError):
    """No permit became free in time. Nothing is held, and the caller has left the wait queue.

    Attributes:
        what: the lock or semaphore, such as `lock 'market:item:42'`.
        waited: seconds that the caller waited.
        holder: name of the holder; of a semaphore, of its first holder; empty if unknown.
    """

    def __init__(self, what: str, waited: float, holder: str) -> None:
        whose = f": {holder} holds it" if holder else ""
        super().__init__(f"{what} was not free within {waited:.3g} s{whose}")
        self.what = what
        self.waited = waited
        self.holder = holder


class LeaseLost(HoldfastError):
    """A lease ended before its permit was released: another client may hold the permit by now.

    Data written since then may conflict with writes of the next holder, unless the fence guards
    the data (`hf.fenced`).

    Attributes:
        what: the lock or semaphore, such as `lock 'market:item:42'`.
        fence: the fence of the lost lease.
        lost_at: when the lease ended, by the server's clock; None if unknown.
        taken_by: name of the holder that has the permit now; None if there is none, or if unknown.
    """

    def __init__(
        self,
        what: str,
        fence: int,
        lost_at: datetime | None = None,
        taken_by: str | None = None,
        *,
        reason: str = "it was not renewed in time, or the server has lost it",
    ) -> None:
        when = f" at {lost_at.isoformat(timespec='milliseconds')}" if lost_at else ""
        whose = f"; {taken_by} holds it now" if taken_by else ""
        super().__init__(
            f"{what} was lost{when} under fence {fence}: {reason}{whose}; "
            "check what was written since, or guard writes with the fence"
        )
        self.what = what
        self.fence = fence
        self.lost_at = lost_at
        self.taken_by = taken_by


class StaleFence(HoldfastError):
    """A write was refused, because the value was written under a later fence.

    The lease with the fence of this write was lost, and another client has taken the lock since.

    Attributes:
        what: the value, such as `fenced 'stock:42'`.
        fence: the fence of this write.
        stored: the later fence, stored with the value.
    """

    def __init__(self, what: str, fence: int, stored: int) -> None:
        super().__init__(
            f"{what} was not changed: fence {fence} is older than {stored}, under which it was "
            "written last; the lease was lost, so take the lock again and read the data again"
        )
        self.what = what
        self.fence = fence
        self.stored = stored
