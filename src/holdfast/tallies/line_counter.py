"""Lines by a function of the user's: any day, any dimensions."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from datetime import date
from typing import Any, Final

from ..core.concurrency.interruption import raise_interruption
from ..core.error_text import log_safely, type_name
from ..errors.records import logger_of
from .counted import (
    FAR_DAY,
    NO_COUNTED,
    NO_DAY,
    NO_VALUE,
    OVERLONG,
    REFUSED,
    Counted,
    Sums,
)
from .days import Span, checked_day

logger: Final = logger_of("holdfast.tallies")

Function = Callable[[bytes], Counted | None]

MAX_DIMENSIONS: Final = 32
MAX_NAME_BYTES: Final = 100
MAX_VALUE_BYTES: Final = 500


class LineCounter:
    """Counts each line by what *function* says of it.

    Args:
        function: see `Tally.aggregate`.
    """

    def __init__(self, function: Function) -> None:
        self._function = function
        self._sums = Sums()
        self._size = 0
        self._told = False

    @property
    def size(self) -> int:
        """How many different counts have come together."""
        return self._size

    def turn(self, data: bytes) -> int:
        """Nobody knows before the function is asked."""
        del data
        return 0

    def overlong(self, lines: int) -> None:
        """Count lines that were too long to be read."""
        self._sums.reject("", OVERLONG, lines)

    def take(self) -> Sums:
        """What was counted since the last time."""
        taken, self._sums, self._size = self._sums, Sums(), 0
        return taken

    def add(self, data: bytes, span: Span) -> int:
        """Count whole lines. How many?"""
        lines = lines_of(data)
        for line in lines:
            self._count(line, span)
        return len(lines)

    def _count(self, line: bytes, span: Span) -> None:
        try:
            counted = self._function(line)
        except Exception as error:  # noqa: BLE001 (the function is the user's)
            raise_interruption(error)
            if not self._told:
                text = "the key failed on %r; more is not logged"
                log_safely(logger, logging.WARNING, text, line[:80], error=error)
                self._told = True
            self._reject("", f"raised {type_name(type(error))}", line)
            return
        if counted is None:
            self._reject("", REFUSED, line)
            return
        if not isinstance(counted, tuple) or len(counted) != 2:
            self._reject("", NO_COUNTED, line)
            return
        day = _day(counted[0])
        if day is None or not span.first <= day <= span.last:
            self._reject("", NO_DAY if day is None else FAR_DAY, line)
        elif not self._add(day, counted[1]):
            self._reject(day, NO_VALUE, line)

    def _add(self, day: str, values: Any) -> bool:
        """Count in all dimensions, or in none: one of the values is none."""
        if not isinstance(values, Mapping) or len(values) > MAX_DIMENSIONS:
            return False
        known = self._sums.values
        for name, value in values.items():
            column = known.get((day, name))
            is_known = column is not None and value in column
            if not (is_known or (_fits(name, MAX_NAME_BYTES) and _fits(value, MAX_VALUE_BYTES))):
                return False
        for name, value in values.items():
            column = known.setdefault((day, name), {})
            before = column.get(value, 0)
            column[value] = before + 1
            self._size += not before
        self._sums.lines[day] = self._sums.lines.get(day, 0) + 1
        return True

    def _reject(self, day: str, reason: str, line: bytes) -> None:
        self._sums.reject(day, reason)
        self._sums.sample(day, line)


def lines_of(data: bytes) -> list[bytes]:
    """The lines of whole lines, without their ends."""
    lines = data.split(b"\n")
    if not lines[-1]:
        lines.pop()
    return [line.removesuffix(b"\r") for line in lines]


def _day(given: object) -> str | None:
    """The text of a day; None: it is none."""
    return checked_day(given) if isinstance(given, str | date) else None


def _fits(text: object, limit: int) -> bool:
    """Whether *text* can be stored, and is short enough."""
    try:
        return isinstance(text, str) and 0 < len(text.encode()) <= limit
    except UnicodeEncodeError:
        return False
