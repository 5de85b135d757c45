"""The instants at which a schedule fires: by cron expression, by interval, or once."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, tzinfo
from itertools import islice
from typing import Any, Final, Self
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from ...core.clock import MAX_MS, Duration, Instant, from_epoch_ms, to_epoch_ms, to_ms, to_seconds

MIN_INTERVAL_MS: Final = 1000

COUNT_LIMIT: Final = 10_000
"""Occurrences of a cron expression that are counted after an outage. More are not counted."""

_LONGEST_MS: Final = 366 * 86_400_000 * 100
"""A hundred years: a cron expression that does not match until then never matches."""


@dataclass(frozen=True)
class Cron:
    """Fires when a cron expression matches the local time of a zone.

    Expressions have five fields (minute, hour, day of month, month, day of week) or six, with the
    second first: what the library cronsim accepts. Daylight saving is handled as in Debian's cron;
    the documentation has a table.

    Attributes:
        expression: such as `0 3 * * *`.
        tz: name of the time zone, such as `Europe/Berlin`.

    Raises:
        ValueError: The expression is wrong or never matches, or the zone is unknown.
        ModuleNotFoundError: cronsim is not installed: install `holdfast[cron]` from where you got
            Holdfast.
    """

    expression: str
    tz: str = "UTC"

    @classmethod
    def stored(cls, expression: Any, tz: Any) -> Self:
        """Return the timing with stored fields, which another program may have written.

        If cronsim is not installed, do not check the expression: only its instants need cronsim.

        Raises:
            ValueError, TypeError: It is wrong.
        """
        try:
            return cls(expression, tz)
        except ModuleNotFoundError:
            if not isinstance(tz, str):
                raise TypeError(f"a time zone must be a str, got {tz!r}") from None
            unchecked = object.__new__(cls)
            object.__setattr__(unchecked, "expression", expression)
            object.__setattr__(unchecked, "tz", tz)
            return unchecked

    def __post_init__(self) -> None:
        if not isinstance(self.expression, str):
            raise TypeError(f"a cron expression must be a str, got {self.expression!r}")
        if self.next_after(0) is None:
            raise ValueError(f"the cron expression {self.expression!r} never matches")

    def next_after(self, after_ms: int, _anchor_ms: int = 0) -> int | None:
        """Return the first instant after *after_ms*; both are in ms since 1970."""
        for instant_ms in self._instants(after_ms):
            if instant_ms > after_ms:
                return instant_ms if instant_ms - after_ms < _LONGEST_MS else None
        return None

    def last_until(self, until_ms: int, first_ms: int) -> tuple[int, int]:
        """Return the last instant up to *until_ms*, and how many come before it from *first_ms* on.

        Args:
            until_ms: in ms since 1970; not before *first_ms*.
            first_ms: an instant of this schedule.
        """
        last_ms, count = first_ms, 0
        for instant_ms in self._instants(first_ms):
            if instant_ms > until_ms:
                return last_ms, count
            if instant_ms > last_ms:
                last_ms, count = instant_ms, count + 1
            if count == COUNT_LIMIT:
                break
        for instant_ms in self._instants(until_ms + 1000, backwards=True):
            if instant_ms <= until_ms:
                return max(last_ms, instant_ms), count
        return last_ms, count

    def back_from(self, instant_ms: int, count: int) -> int:
        """Return the instant that is *count* occurrences before *instant_ms*."""
        return next(islice(self._instants(instant_ms, backwards=True), count - 1, None))

    def spec(self) -> dict[str, Any]:
        """Return the timing as JSON."""
        return {"cron": self.expression, "tz": self.tz}

    def __str__(self) -> str:
        return self.expression if self.tz == "UTC" else f"{self.expression} ({self.tz})"

    def _instants(self, start_ms: int, *, backwards: bool = False) -> Iterator[int]:
        """Yield the instants from about *start_ms* on, in ms since 1970."""
        cronsim = _cronsim()
        start = datetime.fromtimestamp(start_ms // 1000, _zone(self.tz))
        try:
            found = cronsim.CronSim(self.expression, start, backwards)
        except cronsim.CronSimError as error:
            raise ValueError(f"{self.expression!r} is no cron expression: {error}") from None
        for instant in found:
            yield round(instant.timestamp()) * 1000


@dataclass(frozen=True, init=False)
class Every:
    """Fires at a fixed interval.

    Attributes:
        interval_ms: milliseconds between two occurrences.
        phase_ms: milliseconds after the multiples of the interval since 1970 (UTC). None: the
            first occurrence comes one interval after the schedule is defined.
    """

    interval_ms: int
    phase_ms: int | None

    def __init__(
        self,
        interval: Duration | None = None,
        *,
        days: float = 0,
        hours: float = 0,
        minutes: float = 0,
        seconds: float = 0,
        phase: Duration | None = None,
    ) -> None:
        """Make a timing from an interval.

        Args:
            interval: seconds (or a timedelta), at least 1.
            days: in place of *interval*, together with *hours*, *minutes* and *seconds*.
            hours: see *days*.
            minutes: see *days*.
            seconds: see *days*.
            phase: seconds (or a timedelta) after the multiples of the interval since 1970:
                `Every(hours=1, phase=300)` fires at five past each hour.

        Raises:
            ValueError: The interval is below 1 second.
        """
        if interval is None:
            interval = seconds + 60 * (minutes + 60 * (hours + 24 * days))
        elif days or hours or minutes or seconds:
            raise ValueError("Every takes an interval, or days, hours, minutes and seconds")
        interval_ms = to_ms(interval, "interval")
        if interval_ms < MIN_INTERVAL_MS:
            raise ValueError(f"interval must be at least 1 second, got {interval!r}")
        phase_ms = None if phase is None else round(to_seconds(phase, "phase") * 1000)
        object.__setattr__(self, "interval_ms", interval_ms)
        object.__setattr__(self, "phase_ms", None if phase_ms is None else phase_ms % interval_ms)

    def next_after(self, after_ms: int, anchor_ms: int = 0) -> int | None:
        """Return the first instant after *after_ms*.

        Args:
            after_ms: in ms since 1970.
            anchor_ms: an earlier occurrence, or when the schedule was defined; used without phase.
        """
        phase_ms = (anchor_ms if self.phase_ms is None else self.phase_ms) % self.interval_ms
        return after_ms + self.interval_ms - (after_ms - phase_ms) % self.interval_ms

    def last_until(self, until_ms: int, first_ms: int) -> tuple[int, int]:
        """Return the last instant up to *until_ms*, and how many come before it; see `Cron`."""
        count = (until_ms - first_ms) // self.interval_ms
        return first_ms + count * self.interval_ms, count

    def back_from(self, instant_ms: int, count: int) -> int:
        """Return the instant that is *count* occurrences before *instant_ms*."""
        return instant_ms - count * self.interval_ms

    def spec(self) -> dict[str, Any]:
        """Return the timing as JSON."""
        return {"every": self.interval_ms, "phase": self.phase_ms}

    def __str__(self) -> str:
        phase = "" if self.phase_ms is None else f", phase {self.phase_ms / 1000:g} s"
        return f"every {self.interval_ms / 1000:g} s{phase}"


@dataclass(frozen=True, init=False)
class Once:
    """Fires one time.

    Attributes:
        at_ms: when, in ms since 1970.
    """

    at_ms: int

    def __init__(self, at: Instant) -> None:
        """Make a timing from an instant: an aware datetime, or seconds since 1970."""
        object.__setattr__(self, "at_ms", to_epoch_ms(at, "at"))

    def next_after(self, after_ms: int, _anchor_ms: int = 0) -> int | None:
        """Return the instant if it is after *after_ms*."""
        return self.at_ms if self.at_ms > after_ms else None

    def last_until(self, until_ms: int, first_ms: int) -> tuple[int, int]:
        """Return the last instant up to *until_ms*, and how many come before it; see `Cron`.

        The first one may be that of an earlier definition, which was due when it was changed.
        """
        return (self.at_ms, 1) if first_ms < self.at_ms <= until_ms else (first_ms, 0)

    def back_from(self, instant_ms: int, _count: int) -> int:
        """Return *instant_ms*: no occurrence is before it."""
        return instant_ms

    def spec(self) -> dict[str, Any]:
        """Return the timing as JSON."""
        return {"at": self.at_ms}

    def __str__(self) -> str:
        return f"once at {from_epoch_ms(self.at_ms).isoformat(timespec='seconds')}"


Timing = Cron | Every | Once


def timing_of(spec: Any) -> Timing:
    """Return the timing from what its method `spec` returned.

    Raises:
        ValueError, TypeError, KeyError: another program wrote it.
    """
    if "cron" in spec:
        return Cron.stored(spec["cron"], spec["tz"])
    if "at" in spec:
        return Once(_stored_ms(spec["at"]) / 1000)
    interval_ms, phase_ms = _stored_ms(spec["every"]), spec["phase"]
    phase = None if phase_ms is None else _stored_ms(phase_ms) / 1000
    return Every(interval_ms / 1000, phase=phase)


def _stored_ms(number: Any) -> int:
    if type(number) is not int or not 0 <= number <= MAX_MS:
        raise ValueError(f"{number!r} is no number of milliseconds")
    return number


def _zone(name: str) -> tzinfo:
    if name == "UTC":
        return UTC
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError, TypeError):
        raise ValueError(
            f"unknown time zone {name!r}: use a name such as 'Europe/Berlin'; where the system has "
            "no time zones, install the package tzdata"
        ) from None


def _cronsim() -> Any:
    try:
        import cronsim
    except ModuleNotFoundError as error:
        hint = "cron expressions need cronsim: install `holdfast[cron]` from where you got Holdfast"
        raise ModuleNotFoundError(hint, name=error.name) from error
    return cronsim
