"""The context of a `with` statement that holds leases. Twin of `_async/holding_context.py`."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any


class HoldingContext:
    """A context that abandons what it holds if an exception prevents `__exit__`.

    The `with` statement refers to the context only through the callable that `ContextExit` returns,
    and no frame refers to it. A traceback that is kept, as in Jupyter, keeps its frames alive.

    Attributes:
        held: what the context holds.
    """

    __slots__ = ("__weakref__", "held")

    def __init__(self) -> None:
        self.held: list[Any] = []

    def __del__(self) -> None:
        for each in getattr(self, "held", ()):
            each.abandon()


class ContextExit:
    """The `__exit__` of a `HoldingContext`: calls a function with `held` and the exception."""

    def __init__(self, function: Callable[..., None]) -> None:
        self._function = function

    def __get__(
        self, context: HoldingContext | None, owner: type[HoldingContext]
    ) -> Callable[..., None]:
        if context is None:  # `ExitStack` asks the class
            return lambda context, *error: self._function(context.held, *error)
        end = partial(self._function, context.held)
        end.context = context  # type: ignore[attr-defined]
        return end
