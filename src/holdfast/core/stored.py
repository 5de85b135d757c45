"""Values that come from the server, where any program may have changed them.

Check a number with these functions before it bounds a loop or an allocation, and before arithmetic
with it. Read values with a structure in a `decoding` context.
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
"""Up to here a script computes exactly."""

_WHOLE: Final = re.compile(rb"-?[0-9]{1,19}")
_SCORE: Final = re.compile(rb"-?(?:inf|[0-9]+(\.[0-9]+)?(e[+-]?[0-9]+)?)")
_SHOWN: Final = 60
_ADVICE: Final = "; another program changed it: run `holdfast fsck`, then restore or delete the key"

_ERRORS_OF_VALUES: Final = (
    *(ValueError, TypeError, ArithmeticError, AttributeError, LookupError),
    msgspec.MsgspecError,
)
"""What Python raises when a value is not what it should be."""


class decoding:  # noqa: N801  (a context that reads like a verb)
    """A context that raises each error of a damaged value in its body as `DecodeError`.

    Args:
        what: is read, such as `feed 'logs'`.
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
    """Return the whole number that *value* is: bytes of ASCII digits, or an int.

    Args:
        value: what the server returned.
        what: names it in the error: a key, or what the key holds.
        least: the lowest that Holdfast stores there.
        most: the highest.

    Raises:
        DecodeError: It is not such a number.
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
    """Return the score of a sorted set as a whole number, between -2^53 and 2^53.

    An infinite score, or one beyond these limits, counts as the limit.

    Raises:
        DecodeError: It is not a number.
    """
    if isinstance(value, bytes) and _SCORE.fullmatch(value):
        value = float(value)
    if not isinstance(value, int | float) or math.isnan(value):
        raise DecodeError(what, f"{_shown(value)} is not a number{_ADVICE}")
    return int(max(-MAX_EXACT, min(MAX_EXACT, value)))


def stored_text(value: Any, what: str) -> str:
    """Return the text that *value* is, in UTF-8.

    Raises:
        DecodeError: It is not such a text.
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
