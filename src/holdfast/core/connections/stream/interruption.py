"""Exceptions of signal handlers, told from those of a connection.

A handler of SIGALRM that raises TimeoutError is common. It may run in the middle of an exchange,
where a TimeoutError means that the server does not answer.
"""

from __future__ import annotations

import signal
from functools import partial
from types import CodeType
from typing import Any


def interruption_in(error: BaseException | None) -> BaseException | None:
    """Return what a signal handler has raised, if that is *error* or led to it."""
    handlers = _handlers()
    while error is not None and handlers:
        place = error.__traceback__
        while place is not None:
            if place.tb_frame.f_code in handlers:
                return error
            place = place.tb_next
        error = error.__cause__ or error.__context__
    return None


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
