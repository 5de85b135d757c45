"""Format numbers, sizes and times for all screens and commands."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Final

_SIZES: Final = ("B", "KiB", "MiB", "GiB", "TiB", "PiB")
_THOUSANDS: Final = ("", "k", "M", "G", "T", "P", "E")
_UNITS: Final = ((86_400, "d"), (3600, "h"), (60, "min"))


def number(value: float) -> str:
    """Return *value* with separators, as in `1,234` and `19.8`."""
    return f"{value:,}" if isinstance(value, int) else f"{value:,.1f}"


def counted(count: int, noun: str, plural: str = "") -> str:
    """Return *count* and its noun, as in `1 task` and `1,204 tasks`.

    Args:
        count: the number.
        noun: the singular.
        plural: the plural; by default *noun* with an `s`.
    """
    return f"{count:,} {noun if count == 1 else plural or f'{noun}s'}"


def short_number(value: int) -> str:
    """Return *value* in at most seven characters, as in `950`, `12,400`, `3.1M` and `-2.0G`."""
    if abs(value) < 100_000:
        return f"{value:,}"
    left, power = float(value), 0
    while abs(left) >= 999.5:
        left, power = left / 1000, power + 1
    digits = 1 if abs(left) < 99.95 else 0
    return f"{left:.{digits}f}{_THOUSANDS[power]}"


def size(octets: float) -> str:
    """Return a number of bytes with a unit, as in `512 B`, `12.3 KiB` and `2.0 GiB`."""
    left, unit = float(octets), 0
    while left >= 1024 and unit < len(_SIZES) - 1:
        left, unit = left / 1024, unit + 1
    return f"{left:,.1f} {_SIZES[unit]}" if unit else f"{left:.0f} B"


def percent(share: float) -> str:
    """Return *share*, a number from 0 to 1, as in `93.1 %`, `8.0 %` and `100 %`."""
    text = f"{share * 100:.1f}"
    return f"{'100' if text == '100.0' else text} %"


def duration(seconds: float) -> str:
    """Return a rounded duration, as in `746 ms`, `3.2 s`, `14 s`, `119 s` and `3 min`."""
    seconds = max(0.0, seconds)
    if seconds < 0.9995:
        return f"{seconds * 1000:.0f} ms"
    if seconds < 9.95:
        return f"{seconds:.1f}".removesuffix(".0") + " s"
    return _whole(seconds)


def exact_duration(seconds: float) -> str:
    """Return an exact duration in the largest unit that divides it, as in `1 h` and `90 s`."""
    for length, unit in _UNITS:
        if seconds >= length and seconds % length == 0:
            return f"{seconds / length:,.0f} {unit}"
    return f"{seconds:,g} s"


def distance(at: datetime, now: datetime | None = None) -> str:
    """Return the time between *at* and *now* in whole units, as in `3 min ago` and `in 2 h`.

    Args:
        at: an aware datetime.
        now: an aware datetime; None: the time of this machine's clock.
    """
    seconds = (at - (now or datetime.now(UTC))).total_seconds()
    return f"in {_whole(seconds)}" if seconds > 0.5 else ago(-seconds)


def ago(seconds: float) -> str:
    """Return an age of *seconds* in whole units, as in `0 s ago` and `3 min ago`."""
    return f"{_whole(max(0.0, seconds))} ago"


def utc(at: datetime) -> str:
    """Return *at* in UTC, as in `2026-03-14 17:00:00`."""
    return f"{at.astimezone(UTC):%Y-%m-%d %H:%M:%S}"


def instant(at: datetime) -> str:
    """Return *at* in UTC, and how long ago it was, as in `2026-03-14 17:00:00 UTC (3 min ago)`."""
    return f"{utc(at)} UTC ({distance(at)})"


def iso(at: datetime) -> str:
    """Return *at* as ISO 8601 in UTC with milliseconds, as in `2026-03-14T17:00:00.000Z`."""
    return at.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _whole(seconds: float) -> str:
    """Return *seconds* in the largest unit that fits at least twice, as in `119 s` and `3 min`."""
    length, unit = next((each for each in _UNITS if seconds >= 2 * each[0]), (1, "s"))
    return f"{round(seconds / length):,} {unit}"
