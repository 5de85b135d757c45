"""Provide context managers that hold leases. Hand-written twin of `_sync/holding_context.py`."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from functools import partial
from typing import Any


class HoldingContext:
    """A context manager that holds leases while the body of its `with` statement runs.

    Attributes:
        held: the held objects.
    """

    __slots__ = ("held",)

    def __init__(self) -> None:
        self.held: list[Any] = []


class ContextExit:
    """Provides `__aexit__` of a `HoldingContext`, as a descriptor.

    Args:
        function: called with `held` of the context and the three exception arguments.
    """

    def __init__(self, function: Callable[..., Coroutine[Any, Any, None]]) -> None:
        self._function = function

    def __get__(
        self, context: HoldingContext | None, owner: type[HoldingContext]
    ) -> Callable[..., Coroutine[Any, Any, None]]:
        if context is None:  # `AsyncExitStack` reads the attribute of the class.
            return lambda context, *error: self._function(context.held, *error)
        return partial(self._function, context.held)
