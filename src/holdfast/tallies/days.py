"""Check the days for which lines are counted."""

from __future__ import annotations

import re
from datetime import UTC, date, datetime, timedelta
from functools import lru_cache
from typing import Final, NamedTuple

MAX_DAYS: Final = 40_000
"""Maximum number of days in a tally; this is more than the days from 1970 to 2079."""

_FIRST: Final = "1970-01-01"
_LENGTH: Final = len(_FIRST)


class DayRange(NamedTuple):
    """Hold the range of valid days of lines.

    Attributes:
        first: the first day of 1970.
        last: the day after the server's current day, because that day may have begun in other time
            zones.
    """

    first: str
    last: str

    @classmethod
    def until(cls, now_s: int) -> DayRange:
        """Return the range for the server time *now_s* (epoch seconds)."""
        tomorrow = datetime.fromtimestamp(now_s, UTC).date() + timedelta(days=1)
        return cls(_FIRST, tomorrow.isoformat())


def iso_day(day: object) -> str | None:
    """Return *day* (a date, or a text) as a text such as `2011-10-10`; None if it is not a day."""
    if isinstance(day, date):
        return date.isoformat(day)  # `datetime.isoformat` would include the time
    return _iso_text(str.__str__(day)) if isinstance(day, str) and len(day) == _LENGTH else None


@lru_cache(maxsize=4096)
def _iso_text(day: str) -> str | None:
    """Return *day*, a text, if it is a day. It is cached, because many lines have the same day.

    A date is not: a datetime equals the one of the same instant in another time zone, which may be
    of another day.
    """
    if not re.fullmatch("[0-9]{4}-[0-9]{2}-[0-9]{2}", day):
        return None
    try:
        return date.fromisoformat(day).isoformat()
    except ValueError:
        return None


def checked_day(day: str | date) -> str:
    """Return *day*, an argument of a public method, as a text such as `2011-10-10`.

    Raises:
        ValueError: *day* is a text that is not a day.
        TypeError: *day* is neither a date nor a text.
    """
    if not isinstance(day, str | date):
        raise TypeError(f"day must be a date or a text such as 2011-10-10, got {day!r}")
    text = iso_day(day)
    if text is None:
        raise ValueError(f"day must be a date such as 2011-10-10, got {day!r}")
    return text
