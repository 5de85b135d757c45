"""Numbers and texts that come from the server, where any program may have changed them.

Check a number with these before it bounds a loop or an allocation, and before arithmetic with it.
"""

from __future__ import annotations

import math
import re
from typing import Any, Final

from ..errors import DecodeError

MAX_INT: Final = 2**63 - 1
MAX_EXACT: Final = 2**53
"""Up to here a script computes exactly."""

_WHOLE: Final = re.compile(rb"-?[0-9]{1,19}")
_SCORE: Final = re.compile(rb"-?(?:inf|[0-9]+(\.[0-9]+)?(e[+-]?[0-9]+)?)")
_SHOWN: Final = 60
_DO: Final = "; another program changed it: run `holdfast fsck`, then restore or delete the key"


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
            what, f"{_shown(value)} is not a whole number from {least} to {most}{_DO}"
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
        raise DecodeError(what, f"{_shown(value)} is not a number{_DO}")
    return int(max(-MAX_EXACT, min(MAX_EXACT, value)))


def stored_text(value: Any, what: str) -> str:
    """Return the text that *value* is, in UTF-8.

    Raises:
        DecodeError: It is not such a text.
    """
    if not isinstance(value, bytes):
        raise DecodeError(what, f"{_shown(value)} is not a text{_DO}")
    try:
        return value.decode()
    except UnicodeDecodeError as error:
        raise DecodeError(what, f"not valid UTF-8 at position {error.start}{_DO}") from error


def _shown(value: Any) -> str:
    """Return the beginning of *value* for a message."""
    text = repr(value[:_SHOWN] if isinstance(value, bytes) else value)
    return text.removeprefix("b") if isinstance(value, bytes) else text
