"""Distinguish exceptions of signal handlers from those of connections and of user functions.

For example, a handler of SIGALRM often raises TimeoutError. It may run in the middle of a call,
where TimeoutError otherwise means that the server does not answer.
"""

from __future__ import annotations

import signal
from functools import partial
from inspect import CO_VARARGS
from types import CodeType
from typing import Any

_CAUSE, _CONTEXT, _TRACEBACK = (
    BaseException.__dict__[name] for name in ("__cause__", "__context__", "__traceback__")
)


def raise_interruption(error: BaseException) -> None:
    """Raise the exception of a signal handler, if *error* is that exception or was caused by it."""
    # Read the attributes through BaseException, because those of a user's class may raise.
    context = _CONTEXT.__get__(error)
    for each in (error, _CAUSE.__get__(error), context, _replaced_by(context)):
        codes = set() if each is None else _codes(each)
        if each is not None and codes and codes & _handlers():
            raise each


def _replaced_by(error: BaseException | None) -> BaseException | None:
    """Return the exception that a library caught and replaced with *error*, or None.

    redis-py 6 replaces a TimeoutError twice, so one step back is not enough. But the context of
    *error* may also be an exception that the program was handling when it made the call. That one
    was caught outside the call, so the tracebacks have no frame in common.
    """
    replaced: BaseException | None = None if error is None else _CONTEXT.__get__(error)
    caught = None if replaced is None else _TRACEBACK.__get__(replaced)
    place = None if caught is None else _TRACEBACK.__get__(error)
    while caught is not None and place is not None:
        if place.tb_frame is caught.tb_frame:
            return replaced
        place = place.tb_next
    return None


def _codes(error: BaseException) -> set[CodeType]:
    """Return the code of the frames in the traceback of *error* that may be signal handlers.

    A signal handler has two parameters, or three with `self`, or any number.
    """
    codes, place = set(), _TRACEBACK.__get__(error)
    while place is not None:
        code = place.tb_frame.f_code
        if code.co_argcount in (2, 3) or code.co_flags & CO_VARARGS:
            codes.add(code)
        place = place.tb_next
    return codes


def _handlers() -> set[CodeType]:
    """Return the code of each signal handler that is written in Python."""
    installed = (_code(signal.getsignal(each)) for each in signal.valid_signals())
    return {code for code in installed if code is not None}


def _code(handler: Any) -> CodeType | None:
    while isinstance(handler, partial):
        handler = handler.func
    for function in (handler, getattr(handler, "__func__", None), type(handler).__call__):
        code = getattr(function, "__code__", None)
        if isinstance(code, CodeType):
            return code
    return None
