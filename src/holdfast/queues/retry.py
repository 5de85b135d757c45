"""`Retry`: whether a task that raised runs again, and when."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from ..core.checks import checked_int
from ..core.clock import Duration, backoff_s, not_early_ms, to_seconds
from ..core.error_text import is_kind

MAX_DELAY_S: Final = 1e9
"""Seconds that a delay must stay below; a time since 1970 is longer."""

MAX_DELAYS: Final = 100
"""Maximum number of explicit delays of one task."""

ATTEMPTS: Final = 5

Raised = type[BaseException]


@dataclass(frozen=True, slots=True, init=False)
class Retry:
    """How often a task that raises is tried again, before it is moved to the dead-letter list.

    Attributes:
        attempts: attempts at most, the first one included.
        backoff: seconds before the second attempt; doubled for each further one. The actual wait
            is random, between half of that and all of it, so that tasks which failed together are
            not all tried again together.
        longest: seconds between two attempts at most.
        delays: seconds before the second attempt, the third one, and so on, exactly; the last one
            repeats. Empty: *backoff* decides.
        on: only these exceptions are retried; empty: all.
        never: these exceptions are not retried.
        snoozes: how often a task may raise `Snooze`.
    """

    attempts: int
    backoff: float
    longest: float
    delays: tuple[float, ...]
    on: tuple[Raised, ...]
    never: tuple[Raised, ...]
    snoozes: int

    def __init__(
        self,
        attempts: int | None = None,
        backoff: Duration = 2.0,
        longest: Duration = 3600.0,
        *,
        delays: Sequence[Duration] = (),
        on: Raised | Iterable[Raised] = (),
        never: Raised | Iterable[Raised] = (),
        snoozes: int = 100,
    ) -> None:
        """Check and keep the settings.

        Args:
            attempts: at least 1; None: 5, or with *delays* one more than there are.
            backoff: seconds or a timedelta.
            longest: seconds or a timedelta; *delays* may be longer.
            delays: seconds or timedeltas, at most 100.
            on: exception classes, or one.
            never: exception classes, or one; stronger than *on*.
            snoozes: 0 or more.

        Raises:
            ValueError: a number is out of its range.
            TypeError: *on* or *never* is not made of exception classes.
        """
        waits = _delays(delays)
        if attempts is None:
            attempts = len(waits) + 1 if waits else ATTEMPTS
        keep = object.__setattr__
        keep(self, "attempts", checked_int(attempts, "attempts", 1))
        keep(self, "backoff", to_seconds(backoff, "backoff"))
        keep(self, "longest", to_seconds(longest, "longest"))
        keep(self, "delays", waits)
        keep(self, "on", _classes(on, "on"))
        keep(self, "never", _classes(never, "never"))
        keep(self, "snoozes", checked_int(snoozes, "snoozes", 0))

    def wait_ms(self, failures: int) -> int | None:
        """Return the milliseconds to wait after so many failures; None if no attempt is left."""
        if failures >= self.attempts:
            return None
        if self.delays:
            return not_early_ms(self.delays[min(failures, len(self.delays)) - 1])
        return round(backoff_s(failures, self.backoff, self.longest) * 1000)

    def covers(self, error: BaseException, leaves: Sequence[BaseException]) -> bool:
        """Return whether *error* may be retried.

        An exception group is covered if *on* has the group or each of its *leaves*, and *never*
        has neither the group nor one of them. For any other exception, *leaves* is that exception.
        """
        if any(_has(self.never, each) for each in (error, *leaves)):
            return False
        return not self.on or _has(self.on, error) or all(_has(self.on, leaf) for leaf in leaves)


def from_now_s(duration: Duration, what: str, hint: str = "") -> float:
    """Return *duration* in seconds; refuse an instant where seconds from now are meant.

    Raises:
        ValueError: it is negative, or over 30 years.
        TypeError: it is neither a number nor a timedelta.
    """
    seconds = to_seconds(duration, what)
    if seconds >= MAX_DELAY_S:
        raise ValueError(f"{what} counts from now, and {seconds:,.0f} s are over 30 years{hint}")
    return seconds


def _delays(delays: Sequence[Duration]) -> tuple[float, ...]:
    if isinstance(delays, str | bytes) or not isinstance(delays, Sequence):
        raise TypeError(f"delays must be a sequence of seconds, got {delays!r}")
    if len(delays) > MAX_DELAYS:
        raise ValueError(f"a Retry has at most {MAX_DELAYS} delays, got {len(delays)}")
    return tuple(from_now_s(delay, "each of the delays") for delay in delays)


def _classes(given: Any, what: str) -> tuple[Raised, ...]:
    classes = tuple(given) if isinstance(given, Iterable) else (given,)
    for each in classes:
        if not (isinstance(each, type) and issubclass(each, BaseException)):
            raise TypeError(f"{what} takes exception classes, got {each!r}")
    return classes


def _has(classes: tuple[Raised, ...], error: BaseException) -> bool:
    return any(is_kind(error, each) for each in classes)
