"""Count the lines of files by a key function that the user gives."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from datetime import date
from typing import Any, Final

from ..core.concurrency.interruption import raise_interruption
from ..core.error_text import log_safely, type_name
from ..errors.one_line_logger import logger_of
from .counted import (
    FAR_DAY,
    NO_COUNTED,
    NO_DAY,
    NO_VALUE,
    OVERLONG,
    REFUSED,
    Counted,
    LineCounts,
)
from .days import DayRange, iso_day

logger: Final = logger_of("holdfast.tallies")

MAX_DIMENSIONS: Final = 32
MAX_NAME_BYTES: Final = 100
MAX_VALUE_BYTES: Final = 500


class FunctionCounter:
    """Count each line for the day and the values that a function returns for it.

    Args:
        function: the *key* of `Tally.aggregate`.
    """

    def __init__(self, function: Callable[[bytes], Counted | None]) -> None:
        self._function = function
        self._counts = LineCounts()
        self._size = 0
        self._has_logged = False

    @property
    def size(self) -> int:
        """Return how many counts, one for each day, dimension and value, are in memory."""
        return self._size

    def new_day_offset(self, data: bytes) -> int:
        """Return 0, because only the function knows the day of a line."""
        del data
        return 0

    def reject_overlong(self, lines: int) -> None:
        """Count *lines* lines as rejected because they are too long."""
        self._counts.reject("", OVERLONG, lines)

    def take(self) -> LineCounts:
        """Return the counts since the last call, and begin again with empty counts."""
        taken, self._counts, self._size = self._counts, LineCounts(), 0
        return taken

    def add(self, data: bytes, days: DayRange) -> int:
        """Count the lines in *data*, and return their number."""
        lines = lines_of(data)
        for line in lines:
            self._count(line, days)
        return len(lines)

    def _count(self, line: bytes, days: DayRange) -> None:
        try:
            counted = self._function(line)
        except Exception as error:  # noqa: BLE001 (the function is the user's)
            raise_interruption(error)
            if not self._has_logged:
                text = "the key failed on %r; later failures are not logged"
                log_safely(logger, logging.WARNING, text, line[:80], error=error)
                self._has_logged = True
            self._reject("", f"raised {type_name(type(error))}", line)
            return
        if counted is None:
            self._reject("", REFUSED, line)
            return
        if not isinstance(counted, tuple) or len(counted) != 2:
            self._reject("", NO_COUNTED, line)
            return
        day = iso_day(counted[0]) if isinstance(counted[0], str | date) else None
        if day is None or not days.first <= day <= days.last:
            self._reject("", NO_DAY if day is None else FAR_DAY, line)
        elif not self._add(day, counted[1]):
            self._reject(day, NO_VALUE, line)

    def _add(self, day: str, values: Any) -> bool:
        """Count a line of *day* for all *values*. If a value is not valid, count nothing and
        return False."""
        if not isinstance(values, Mapping) or len(values) > MAX_DIMENSIONS:
            return False
        known = self._counts.values
        for name, value in values.items():
            column = known.get((day, name))
            is_known = type(value) is str and column is not None and value in column
            if not (is_known or (_fits(name, MAX_NAME_BYTES) and _fits(value, MAX_VALUE_BYTES))):
                return False
        for name, value in values.items():
            column = known.setdefault((day, name), {})
            before = column.get(value, 0)
            column[value] = before + 1
            self._size += not before
        self._counts.lines[day] = self._counts.lines.get(day, 0) + 1
        return True

    def _reject(self, day: str, reason: str, line: bytes) -> None:
        self._counts.reject(day, reason)
        self._counts.sample(day, line)


def lines_of(data: bytes) -> list[bytes]:
    """Split *data* into its lines, without their line ends."""
    lines = data.split(b"\n")
    if not lines[-1]:
        lines.pop()
    return [line.removesuffix(b"\r") for line in lines]


def _fits(text: object, limit: int) -> bool:
    """Return whether *text* is a valid, non-empty text of at most *limit* bytes."""
    try:
        return isinstance(text, str) and 0 < len(text.encode()) <= limit
    except UnicodeEncodeError:
        return False
