"""What can go wrong with locks and semaphores."""

from __future__ import annotations

from datetime import datetime

from .base import HoldfastError


class LockTimeout(HoldfastError, TimeoutError):
    """No place was free in time; nothing is held, and the place in line is given up.

    Attributes:
        what: such as `lock 'market:item:42'`.
        waited: seconds.
        holder: who had the place at last, or the first of several; empty if nobody knows.
    """

    def __init__(self, what: str, waited: float, holder: str) -> None:
        whose = f": {holder} holds it" if holder else ""
        super().__init__(f"{what} was not free within {waited:.3g} s{whose}")
        self.what = what
        self.waited = waited
        self.holder = holder


class LeaseLost(HoldfastError):
    """A place was lost before it was given back: someone else may hold it by now.

    What was written meanwhile may clash with what the next holder writes, unless the fence guards
    it (`hf.fenced`).

    Attributes:
        what: such as `lock 'market:item:42'`.
        fence: of the lease that was lost.
        lost_at: when it ended, by the server's clock; None when the server did not say.
        taken_by: who has the place since; None when nobody took it, or the server did not say.
    """

    def __init__(
        self,
        what: str,
        fence: int,
        lost_at: datetime | None = None,
        taken_by: str | None = None,
        *,
        reason: str = "it was not renewed in time, or the server does not know of it any more",
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
    """A value was stored under a later fence: the lease of this one was lost meanwhile.

    Attributes:
        what: such as `fenced 'stock:42'`.
        fence: what was given.
        stored: the later one.
    """

    def __init__(self, what: str, fence: int, stored: int) -> None:
        super().__init__(
            f"{what} was not changed: fence {fence} is older than {stored}, under which it was "
            "written last; the lease was lost, so take the lock again and read the data again"
        )
        self.what = what
        self.fence = fence
        self.stored = stored
