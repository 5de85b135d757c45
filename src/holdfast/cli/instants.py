"""Instants, and how long things last, as a person reads them."""

from __future__ import annotations

from datetime import UTC, datetime


def utc(at: datetime) -> str:
    """As in `2026-03-14 17:00:00`."""
    return f"{at.astimezone(UTC):%Y-%m-%d %H:%M:%S}"


def instant(at: datetime) -> str:
    """The same, and how far from now that is."""
    return f"{utc(at)} UTC ({distance(at)})"


def distance(at: datetime | None) -> str:
    """As in `3 min ago` and `in 2 h`; the clock of this machine may be off by a bit."""
    if at is None:
        return "some time ago"
    seconds = (at - datetime.now(UTC)).total_seconds()
    return f"in {duration(seconds)}" if seconds > 0 else f"{duration(-seconds)} ago"


def duration(seconds: float) -> str:
    """As in `3 min`."""
    size, unit = next(
        (size, unit)
        for size, unit in ((86400, "d"), (3600, "h"), (60, "min"), (0, "s"))
        if seconds >= 2 * size
    )
    return f"{round(seconds / (size or 1)):,} {unit}"
