"""`Limit`: how much is allowed in any window of a period."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Final

from ..core.checks import checked_int
from ..core.clock import Duration, to_ms
from ..core.names import plain_text

MAX_AMOUNT: Final = 10**12
"""Largest amount. Scripts compute exactly with a thousand times as much."""

MAX_PERIOD_MS: Final = 366 * 86_400 * 1000

MAX_LIMITS: Final = 8
"""Largest number of limits that one limiter has."""

_NAME: Final = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,31}")

UNNAMED: Final = "requests"
"""The name under which a limit without a name is stored and reported."""


@dataclass(frozen=True, slots=True)
class Limit:
    """Allow at most *amount* in any window of *per* seconds.

    Args:
        amount: how much passes in a window, 1 to 10^12.
        per: length of the window in seconds, or a timedelta; 1 ms to 366 days.
        name: what is counted, such as `tokens`: a letter, then up to 31 ASCII letters, digits, `_`
            and `-`. None: calls are counted, as `requests`.

    Attributes:
        amount: how much passes in a window.
        per: length of the window in seconds.
        name: what is counted; None: calls.
        per_ms: length of the window in milliseconds.

    Raises:
        TypeError: *amount* is not an int, or *name* is not a str.
        ValueError: a value is out of range.
    """

    amount: int
    per: Duration
    name: str | None = None
    per_ms: int = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        checked_int(self.amount, "amount", 1, MAX_AMOUNT)
        per_ms = to_ms(self.per, "per")
        if per_ms > MAX_PERIOD_MS:
            raise ValueError(f"per must be at most 366 days, got {per_ms / 1000:g} s")
        if self.name is not None:
            object.__setattr__(self, "name", checked_limit_name(self.name))
        object.__setattr__(self, "per_ms", per_ms)
        object.__setattr__(self, "per", per_ms / 1000)

    @property
    def key(self) -> str:
        """Return the name under which costs are given and remainders are reported."""
        return self.name or UNNAMED


def checked_limit_name(name: Any) -> str:
    """Return *name* if a limit may have it.

    Raises:
        TypeError: *name* is not a str.
        ValueError: *name* is empty, too long, or has other characters.
    """
    if not isinstance(name, str):
        raise TypeError(f"the name of a limit must be a str, got {type(name).__name__}")
    if not _NAME.fullmatch(name):
        raise ValueError(
            f"the name of a limit is a letter, then up to 31 letters, digits, _ and -; got {name!r}"
        )
    return plain_text(name)


def checked_limits(limits: Iterable[Limit]) -> tuple[Limit, ...]:
    """Return *limits* if one limiter may have them.

    Raises:
        TypeError: one of them is not a `Limit`.
        ValueError: there are none or too many, or two of them have the same name and period.
    """
    found = tuple(limits)
    for limit in found:
        if not isinstance(limit, Limit):
            raise TypeError(f"give Limit(amount, per=…), got {type(limit).__name__} {limit!r}")
    if not 0 < len(found) <= MAX_LIMITS:
        raise ValueError(f"a limiter has 1 to {MAX_LIMITS} limits, got {len(found)}")
    if len({(limit.key, limit.per_ms) for limit in found}) < len(found):
        raise ValueError(f"two limits of a limiter have the same name and period: {found}")
    return found
