"""Days: what a line is counted for."""

from __future__ import annotations

import re
from datetime import UTC, date, datetime, timedelta
from functools import lru_cache
from typing import Final, NamedTuple

MAX_DAYS: Final = 40_000
"""That a tally can have: from 1970 on there are fewer until 2079."""

_FIRST: Final = "1970-01-01"


class Span(NamedTuple):
    """Days that lines may be of; a line of another one has its date wrong.

    Attributes:
        first: the beginning of 1970.
        last: the day after the server's: it is tomorrow somewhere already.
    """

    first: str
    last: str

    @classmethod
    def until(cls, now_s: int) -> Span:
        """The span at this moment of the server's clock."""
        tomorrow = datetime.fromtimestamp(now_s, UTC).date() + timedelta(days=1)
        return cls(_FIRST, tomorrow.isoformat())


@lru_cache(maxsize=4096)
def checked_day(day: object) -> str | None:
    """The text of a day, such as `2011-10-10`; None: it is no day."""
    if isinstance(day, date):
        return date.isoformat(day)  # also of a datetime, whose own would tell the time
    if not isinstance(day, str) or not re.fullmatch("[0-9]{4}-[0-9]{2}-[0-9]{2}", day):
        return None
    try:
        return date.fromisoformat(day).isoformat()
    except ValueError:
        return None


def given_day(day: str | date) -> str:
    """The text of the day that a user asks for.

    Raises:
        ValueError: it is none.
        TypeError: it is neither a date nor a text.
    """
    if not isinstance(day, str | date):
        raise TypeError(f"day must be a date or a text such as 2011-10-10, got {day!r}")
    text = checked_day(day)
    if text is None:
        raise ValueError(f"day must be a date such as 2011-10-10, got {day!r}")
    return text
