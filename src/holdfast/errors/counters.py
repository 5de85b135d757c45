"""Errors of counters."""

from __future__ import annotations

from .base import HoldfastError


class CounterOverflow(HoldfastError, OverflowError):
    """An add would make a sample overflow 64 bits. Nothing was counted.

    Attributes:
        counter: the counter, such as `counter 'hits'`.
    """

    def __init__(self, counter: str) -> None:
        super().__init__(
            f"{counter} would overflow: a sample is less than 2^63; count less at once"
        )
        self.counter = counter


class TimeOutOfRange(HoldfastError, ValueError):
    """The time of an add is too late or too early for the counter. Nothing was counted.

    Attributes:
        counter: the counter, such as `counter 'hits'`.
        ahead: seconds by which the time is ahead of the server's clock; None: the time is older
            than all samples that the counter keeps.
    """

    def __init__(self, counter: str, ahead: float | None) -> None:
        where = "is older than all it keeps"
        if ahead is not None:
            where = f"lies {ahead:,.0f} s ahead of the server's clock; a minute is allowed"
        super().__init__(f"{counter}: the time given as at= {where}")
        self.counter = counter
        self.ahead = ahead
