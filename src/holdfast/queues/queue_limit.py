"""The limit of a whole queue, as it is stored."""

from __future__ import annotations

from types import EllipsisType
from typing import TYPE_CHECKING

from ..core.checks import checked_int
from .per_key import MAX_CONCURRENCY, rate_of

if TYPE_CHECKING:
    from ..limits.limit import Limit


def checked_limit(
    concurrency: int | EllipsisType | None, rate: Limit | EllipsisType | None
) -> tuple[int | str, str]:
    """Return the arguments of `limit.lua`: an empty text for what stays as it is.

    Raises:
        ValueError: *concurrency* is out of its range.
        TypeError: one is of a wrong type.
    """
    given: int | str = ""
    if not isinstance(concurrency, EllipsisType):
        given = checked_int(concurrency or 0, "concurrency", 0, MAX_CONCURRENCY)
    if isinstance(rate, EllipsisType):
        return given, ""
    amount, per_ms = rate_of(rate or None)
    return given, f"{amount} {per_ms}"


def stored_limit(text: bytes) -> tuple[int | None, tuple[int, float] | None]:
    """Return concurrency and rate (amount and seconds) from the settings of a queue."""
    concurrency, amount, per_ms = map(int, (text or b"0 0 0").split(b" "))
    return concurrency or None, (amount, per_ms / 1000) if amount else None
