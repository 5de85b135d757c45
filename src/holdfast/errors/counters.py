"""What can go wrong with counters."""

from __future__ import annotations

from .base import HoldfastError


class CounterOverflow(HoldfastError, OverflowError):
    """A sample would be 2^63 or more, either way; nothing was counted.

    Attributes:
        counter: such as `counter 'hits'`.
    """

    def __init__(self, counter: str) -> None:
        super().__init__(
            f"{counter} would overflow: a sample is less than 2^63; count less at once"
        )
        self.counter = counter


class TimeOutOfRange(HoldfastError, ValueError):
    """Something is said to have happened when a counter cannot count it; nothing was counted.

    Attributes:
        counter: such as `counter 'hits'`.
        ahead: seconds ahead of the server's clock; None: older than all that the counter keeps.
    """

    def __init__(self, counter: str, ahead: float | None) -> None:
        where = "is older than all it keeps"
        if ahead is not None:
            where = f"lies {ahead:,.0f} s ahead of the server's clock; a minute is allowed"
        super().__init__(f"{counter}: the time given as at= {where}")
        self.counter = counter
        self.ahead = ahead
