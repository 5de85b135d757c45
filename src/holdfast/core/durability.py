"""When a write counts as done."""

from __future__ import annotations

from dataclasses import dataclass, field

from .checks import checked_int
from .clock import Duration, to_ms


@dataclass(frozen=True, slots=True)
class Replicated:
    """A write returns when replicas have it in memory, so it survives the loss of its primary.

    That is, if one of these replicas is the next primary. Fewer of them within the timeout is an
    `OutcomeUnknown`: the write stands on the primary, and perhaps on replicas that could not say
    so. Its `repeat()` waits for them again.

    Attributes:
        replicas: how many, at least 1.
        timeout: seconds (or a timedelta) that they have for it, more than 0.
    """

    replicas: int = 1
    timeout: Duration = field(default=1.0, kw_only=True)

    def __post_init__(self) -> None:
        _check(self.replicas, 1, self.timeout)


@dataclass(frozen=True, slots=True)
class Fsynced:
    """A write returns when its server, and maybe replicas, have it on disk.

    It survives the loss of power and of the process. With `appendfsync always` that takes as long
    as the disk does, with `everysec` a second or two. Not in time is an `OutcomeUnknown`, as with
    `Replicated`.

    Attributes:
        replicas: how many beside the server itself; they too need `appendonly yes`.
        timeout: seconds (or a timedelta) that they have for it, more than 0.
    """

    replicas: int = 0
    timeout: Duration = field(default=5.0, kw_only=True)

    def __post_init__(self) -> None:
        _check(self.replicas, 0, self.timeout)


Durability = Replicated | Fsynced


def _check(replicas: int, least: int, timeout: Duration) -> None:
    checked_int(replicas, "replicas", least)
    to_ms(timeout, "timeout")
