"""Read the name and the message of exceptions of user code, without raising.

The class, the metaclass and the arguments of such an exception belong to the user. So each
attribute may be a property that raises, and each conversion to text may raise.
"""

from __future__ import annotations

import contextlib
import sys
import traceback
from collections.abc import Mapping
from typing import Final

from ..errors import on_one_line
from ..errors.one_line_logger import OneLineLogger

_NAME: Final = type.__dict__["__name__"]
_MRO: Final = type.__dict__["__mro__"]
_LEAVES: Final = BaseExceptionGroup.__dict__["exceptions"]
_NAME_LIMIT: Final = 200

UNREADABLE: Final = "its message cannot be read"


def type_name(kind: type[BaseException]) -> str:
    """Return the name of an exception type on one line, whatever its metaclass does."""
    name: str = _NAME.__get__(kind)
    return on_one_line(str.__str__(name)[:_NAME_LIMIT])


def is_kind(error: BaseException, kind: type[BaseException]) -> bool:
    """Return whether *error* is an instance of *kind*. Unlike `isinstance`, run no user code."""
    return any(each is kind for each in _MRO.__get__(type(error)))


def leaves_of(error: BaseException) -> list[BaseException]:
    """Return the exceptions in an exception group, at any depth; otherwise only *error*."""
    found, left = [], [error]
    while left:
        each = left.pop()
        if is_kind(each, BaseExceptionGroup):
            left += reversed(_LEAVES.__get__(each))
        else:
            found.append(each)
    return found


def error_text(error: BaseException, limit: int) -> str:
    """Return the message of *error*, cut to *limit* characters; `UNREADABLE` if it raises."""
    try:
        return str.__str__(str(error))[:limit]  # str() may return an object of a subclass.
    except BaseException:  # noqa: BLE001 (the error's own __str__ may raise even KeyboardInterrupt)
        return UNREADABLE


def described(error: BaseException, limit: int) -> str:
    """Return the type and, if there is one, the message of *error*, cut to *limit* characters."""
    name, text = type_name(type(error)), error_text(error, limit)
    return (f"{name}: {text}" if text else name)[:limit]


def log_safely(
    logger: OneLineLogger,
    level: int,
    text: str,
    *args: object,
    error: BaseException | None = None,
    extra: Mapping[str, object] | None = None,
) -> None:
    """Log *text*, and the traceback of *error* if it can be formatted and encoded. Never raise.

    Check the traceback before, because a log handler formats and encodes it. If that fails, some
    handlers raise, and others lose the record.
    """
    exc_info = None
    if error is not None and _is_formattable(error):
        # A tuple, because `logging` asks for the truth of an exception, which may raise.
        exc_info = (type(error), error, error.__traceback__)
    try:
        logger.log(level, text, *args, exc_info=exc_info, extra=extra, stacklevel=2)
    except Exception:  # noqa: BLE001 (a filter or a handler of the user may raise)
        with contextlib.suppress(Exception):
            sys.stderr.write(f"a log handler failed on: {text % args}\n")


def _is_formattable(error: BaseException) -> bool:
    try:
        # encode() fails if the text has lone surrogates.
        "".join(traceback.format_exception(error)).encode()
    except BaseException:  # noqa: BLE001 (as in `error_text`)
        return False
    return True
