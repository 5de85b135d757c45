"""Define on how many servers, and on which disks, a write must be before a call returns."""

from __future__ import annotations

from dataclasses import dataclass, field

from .checks import checked_int
from .clock import Duration, to_ms


@dataclass(frozen=True, slots=True)
class Replicated:
    """Writes return after replicas have them in memory.

    Such a write survives the loss of its primary, if one of these replicas becomes the next
    primary. If too few replicas confirm it within the timeout, the call raises `OutcomeUnknown`:
    the write is applied on the primary, and perhaps on replicas. Its `repeat()` waits again.

    Attributes:
        replicas: number of replicas that must confirm, at least 1.
        timeout: seconds (or a timedelta) within which they must confirm, more than 0.
    """

    replicas: int = 1
    timeout: Duration = field(default=1.0, kw_only=True)

    def __post_init__(self) -> None:
        _check(self.replicas, 1, self.timeout)


@dataclass(frozen=True, slots=True)
class Fsynced:
    """Writes return after their server, and replicas if required, have them on disk.

    Such a write survives the loss of power and of the process. A write takes as long as the disk
    with `appendfsync always`, and a second or two with `everysec`. If it is not confirmed within
    the timeout, the call raises `OutcomeUnknown`, as with `Replicated`.

    Attributes:
        replicas: number of replicas that must confirm besides the server; they need
            `appendonly yes` as well.
        timeout: seconds (or a timedelta) within which they must confirm, more than 0.
    """

    replicas: int = 0
    timeout: Duration = field(default=5.0, kw_only=True)

    def __post_init__(self) -> None:
        _check(self.replicas, 0, self.timeout)


Durability = Replicated | Fsynced


def _check(replicas: int, least: int, timeout: Duration) -> None:
    checked_int(replicas, "replicas", least)
    to_ms(timeout, "timeout")
