"""Exceptions of steps that a task caught: stored, and raised again when the task is replayed."""

from __future__ import annotations

import contextlib
import sys
from typing import Any, Final

import msgspec

from ...core.concurrency._async.cancellation import Cancelled
from ...core.concurrency.thread_pool import Interrupted
from ...core.error_text import error_text
from ...errors import StepFailed
from .interrupts import StepInterrupt

_TEXT_LIMIT: Final = 2000
_ARGS_BYTES: Final = 10_000

_INITIALIZED: Final = ("builtins", "holdfast.queues.outcomes")
"""Modules with an `__init__` that takes the arguments of the exception and makes attributes of
them."""


class StoredFailure(msgspec.Struct):
    """An exception as it is stored.

    Attributes:
        module: module of its class.
        name: qualified name of its class.
        text: its message.
        args: its arguments, if JSON can store them.
    """

    module: str
    name: str
    text: str
    args: list[Any] | None = None


def stored_failure(error: BaseException) -> bytes:
    """Return *error* as JSON."""
    kind = type(error)
    text = error_text(error, _TEXT_LIMIT).encode(errors="backslashreplace").decode()
    failure = StoredFailure(kind.__module__, kind.__qualname__, text)
    try:
        args = list(error.args)
        data = msgspec.json.encode(args)
        if len(data) <= _ARGS_BYTES and msgspec.json.decode(data) == args:
            failure.args = args
    except Exception:  # noqa: BLE001 (the arguments belong to the application)
        failure.args = None
    return msgspec.json.encode(failure)


def restored_failure(step: str, data: bytes) -> BaseException:
    """Return the exception that is stored as *data*.

    The class of the exception is not imported: its module must be loaded already. The `__init__` of
    the class runs only if Python or `outcomes` defines the class; otherwise only `args` is
    restored. If the exception cannot be restored, return a `StepFailed` that names the class.
    """
    failure = msgspec.json.decode(data, type=StoredFailure)
    kind: Any = sys.modules.get(failure.module)
    for part in failure.name.split("."):
        kind = vars(kind).get(part) if hasattr(kind, "__dict__") else None
    if _may_be_raised(kind) and failure.args is not None:
        with contextlib.suppress(Exception):  # its class belongs to the application
            error: BaseException = kind.__new__(kind, *failure.args)
            error.args = tuple(failure.args)
            if getattr(kind.__init__, "__module__", "builtins") in _INITIALIZED:
                kind.__init__(error, *failure.args)
            return error
    return StepFailed(step, failure.name, failure.text)


def _may_be_raised(kind: object) -> bool:
    """Return whether *kind* is a class of exceptions that a step may store."""
    return (
        isinstance(kind, type)
        and issubclass(kind, BaseException)
        and not issubclass(kind, (StepInterrupt, Interrupted, Cancelled, GeneratorExit))
    )


def failure_of_cancellation(step: str) -> TimeoutError:
    """Return what a step that was cancelled raises when the task is replayed.

    A task continues after a cancelled step only if a timeout of its own had cancelled the step.
    """
    return TimeoutError(f"step {step!r} was cancelled")
