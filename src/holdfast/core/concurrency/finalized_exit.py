"""Leave a `with` block even if an exception comes between any two bytecodes of it."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import partial
from threading import get_ident
from typing import Any, Generic, TypeVar
from weakref import ref

T = TypeVar("T")


class FinalizedExit(Generic[T]):
    """Provides `__exit__` as a descriptor.

    `with` looks it up before it calls `__enter__`, and keeps the result until the block has ended.
    A signal handler may raise while nothing else protects the block: after `__enter__` has
    returned, or before the first line of `__exit__`. Then the block is left when the result is
    freed. That is at once, because no frame in a traceback refers to it.

    Args:
        leave: called with the object, and with the frame id and the thread of the block. It may be
            called twice.
    """

    def __init__(self, leave: Callable[[T, int, int], object]) -> None:
        self._leave = leave

    def __get__(self, entered: T | None, owner: type[T]) -> Callable[..., None]:
        if entered is None:  # `ExitStack` reads the attribute of the class.
            raise TypeError(f"use a {owner.__name__} only in a `with` statement")
        frame = id(sys._getframe(1))  # noqa: SLF001 (documented, in spite of its name)
        block: list[Any] = [entered, frame, get_ident()]
        leave_block = partial(self._leave_once, block)
        # A callback instead of `__del__`: after an ordinary end no Python code runs, which an
        # exception of a signal handler could interrupt without a trace.
        block.append(ref(leave_block, partial(self._leave_once, block)))
        return leave_block

    def _leave_once(self, block: list[Any], *_: object) -> None:
        if block:
            self._leave(*block[:3])
            block.clear()
