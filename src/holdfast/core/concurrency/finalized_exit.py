"""Leave a `with` block even if an exception comes between any two bytecodes of it."""

from __future__ import annotations

import sys
from collections.abc import Callable
from threading import get_ident
from typing import Any, Generic, TypeVar

T = TypeVar("T")


class FinalizedExit(Generic[T]):
    """Provides `__exit__` as a descriptor.

    `with` looks it up before it calls `__enter__`, and keeps the result until the block has ended.
    A signal handler may raise while nothing else protects the block: after `__enter__` has
    returned, or before the first line of `__exit__`. Then the finalizer of the result leaves.

    Args:
        leave: called with the object, and with the frame id and the thread of the block. It may be
            called twice.
    """

    def __init__(self, leave: Callable[[T, int, int], object]) -> None:
        self._leave = leave

    def __get__(self, entered: T, owner: type[T]) -> _Exit:
        frame = id(sys._getframe(1))  # noqa: SLF001 (documented, in spite of its name)
        return _Exit(self._leave, (entered, frame, get_ident()))


class _Exit:
    """The exit of one block."""

    _block: tuple[Any, ...] = ()  # until `__init__` has ended, and after the block was left

    def __init__(self, leave: Callable[..., object], block: tuple[Any, int, int]) -> None:
        self._leave = leave
        self._block = block

    def __call__(self, *_error: object) -> None:
        if self._block:
            self._leave(*self._block)
            self._block = ()

    def __del__(self) -> None:
        self()
