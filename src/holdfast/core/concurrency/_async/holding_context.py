"""The context of a `with` statement that holds leases. Twin of `_sync/holding_context.py`."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from functools import partial
from typing import Any


class HoldingContext:
    """A context that holds something while the body of the `with` statement runs.

    Attributes:
        held: what the context holds.
    """

    __slots__ = ("held",)

    def __init__(self) -> None:
        self.held: list[Any] = []


class ContextExit:
    """The `__aexit__` of a `HoldingContext`: calls a function with `held` and the exception."""

    def __init__(self, function: Callable[..., Coroutine[Any, Any, None]]) -> None:
        self._function = function

    def __get__(
        self, context: HoldingContext | None, owner: type[HoldingContext]
    ) -> Callable[..., Coroutine[Any, Any, None]]:
        if context is None:  # `AsyncExitStack` asks the class
            return lambda context, *error: self._function(context.held, *error)
        return partial(self._function, context.held)
