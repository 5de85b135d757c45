"""Check values from the server, because another program may have changed them.

Use these functions before a number is used in arithmetic, as the limit of a loop, or as the size of
an allocation. Parse values of several fields in a `decoding` context.
"""

from __future__ import annotations

import math
import re
from types import TracebackType
from typing import Any, Final

import msgspec

from ..errors import DecodeError, HoldfastError
from .concurrency.interruption import raise_interruption

MAX_INT: Final = 2**63 - 1
MAX_EXACT: Final = 2**53
"""Largest number with which Lua scripts compute exactly."""

_EXACT_DIGITS: Final = 15
"""A number with at most so many digits is less than `MAX_EXACT`."""

_WHOLE: Final = re.compile(rb"-?[0-9]{1,19}")
_SCORE: Final = re.compile(rb"-?(?:inf|[0-9]+(\.[0-9]+)?(e[+-]?[0-9]+)?)")
_SHOWN: Final = 60
_ADVICE: Final = "; another program changed it: run `holdfast fsck`, then restore or delete the key"

_ERRORS_OF_VALUES: Final = (
    *(ValueError, TypeError, ArithmeticError, AttributeError, LookupError),
    msgspec.MsgspecError,
)
"""Errors that Python raises when a value has an unexpected type or content."""


class decoding:  # noqa: N801  (a context manager that reads like a verb)
    """A context manager that raises errors caused by a damaged value as `DecodeError`.

    Args:
        what: names the value in the error, such as `feed 'logs'`.
    """

    __slots__ = ("_what",)

    def __init__(self, what: object) -> None:
        self._what = what

    def __enter__(self) -> None:
        pass

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if error is not None:
            raise_interruption(error)
        if isinstance(error, _ERRORS_OF_VALUES) and not isinstance(error, HoldfastError):
            raise DecodeError(str(self._what), f"{type(error).__name__}: {error}") from None


def stored_int(value: Any, what: str, least: int = 0, most: int = MAX_INT) -> int:
    """Return *value*, ASCII digits or an int, as a whole number from *least* to *most*.

    Args:
        value: the value from the server.
        what: names the value in the error.
        least: lowest number that Holdfast stores there.
        most: highest number that Holdfast stores there.

    Raises:
        DecodeError: *value* is not such a number.
    """
    number = value
    if isinstance(value, bytes) and _WHOLE.fullmatch(value):
        number = int(value)
    if not isinstance(number, int) or not least <= number <= most:
        raise DecodeError(
            what, f"{_shown(value)} is not a whole number from {least} to {most}{_ADVICE}"
        )
    return number


def stored_score(value: Any, what: str) -> int:
    """Return the score of a sorted set as a whole number between -2^53 and 2^53.

    A score beyond these limits becomes the limit.

    Raises:
        DecodeError: *value* is not a number. The error names it *what*.
    """
    if isinstance(value, bytes):
        if value.isdigit() and len(value) <= _EXACT_DIGITS:  # The usual case, without a pattern.
            return int(value)
        if _SCORE.fullmatch(value):
            value = float(value)
    if not isinstance(value, int | float) or math.isnan(value):
        raise DecodeError(what, f"{_shown(value)} is not a number{_ADVICE}")
    return int(max(-MAX_EXACT, min(MAX_EXACT, value)))


def stored_text(value: Any, what: str) -> str:
    """Return *value*, bytes in UTF-8, as text.

    Raises:
        DecodeError: *value* is not valid UTF-8. The error names it *what*.
    """
    if not isinstance(value, bytes):
        raise DecodeError(what, f"{_shown(value)} is not a text{_ADVICE}")
    try:
        return value.decode()
    except UnicodeDecodeError as error:
        raise DecodeError(what, f"not valid UTF-8 at position {error.start}{_ADVICE}") from error


def _shown(value: Any) -> str:
    """Return the beginning of *value* for a message."""
    text = repr(value[:_SHOWN] if isinstance(value, bytes) else value)
    return text.removeprefix("b") if isinstance(value, bytes) else text
