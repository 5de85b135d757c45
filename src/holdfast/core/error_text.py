"""What exceptions that user code raised say about themselves, read so that reading cannot fail.

The class, the metaclass and the arguments of such an exception are the user's: each attribute may
be a property that raises, and each conversion to text may raise anything.
"""

from __future__ import annotations

import contextlib
import sys
import traceback
from collections.abc import Mapping
from typing import Final

from ..errors import on_one_line
from ..errors.records import OneLineLogger

_NAME: Final = type.__dict__["__name__"]
_NAME_LIMIT: Final = 200

UNREADABLE: Final = "its message cannot be read"


def type_name(kind: type[BaseException]) -> str:
    """Return the name of an exception type on one line, whatever its metaclass does."""
    name: str = _NAME.__get__(kind)
    return on_one_line(str.__str__(name)[:_NAME_LIMIT])


def error_text(error: BaseException, limit: int) -> str:
    """Return the message of *error*, cut to *limit* characters; `UNREADABLE` if it raises."""
    try:
        return str.__str__(str(error))[:limit]  # str() may return an object of a subclass
    except BaseException:  # noqa: BLE001 (also KeyboardInterrupt: it is the error that raised it)
        return UNREADABLE


def described(error: BaseException, limit: int) -> str:
    """Return type and message of *error*, cut to *limit* characters."""
    return f"{type_name(type(error))}: {error_text(error, limit)}"[:limit]


def log_safely(
    logger: OneLineLogger,
    level: int,
    text: str,
    *args: object,
    error: BaseException | None = None,
    extra: Mapping[str, object] | None = None,
) -> None:
    """Log *text*, with the traceback of *error* if it can be formatted and encoded. Raise nothing.

    A log handler formats and encodes the traceback. If that fails, some handlers raise, and others
    lose the record.
    """
    if error is not None and not _is_formattable(error):
        error = None
    try:
        logger.log(level, text, *args, exc_info=error, extra=extra, stacklevel=2)
    except Exception:  # noqa: BLE001 (of a filter or a handler of the user's)
        with contextlib.suppress(Exception):
            sys.stderr.write(f"a log handler failed on: {text % args}\n")


def _is_formattable(error: BaseException) -> bool:
    try:
        "".join(traceback.format_exception(error)).encode()  # not so with lone surrogates
    except BaseException:  # noqa: BLE001 (as in `error_text`)
        return False
    return True
