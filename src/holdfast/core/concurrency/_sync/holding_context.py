"""Provide context managers that hold leases. Hand-written twin of `_async/holding_context.py`."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any


class HoldingContext:
    """A context manager that abandons what it holds if an exception prevents `__exit__`.

    Then nothing refers to the context any more, so its finalizer runs: only the callable that
    `ContextExit` returns refers to the context, and no frame does. A reference in a frame would
    last as long as a traceback of the exception is kept, for example by Jupyter.

    Attributes:
        held: the held objects.
    """

    __slots__ = ("__weakref__", "held")

    def __init__(self) -> None:
        self.held: list[Any] = []

    def __del__(self) -> None:
        for each in getattr(self, "held", ()):
            each.abandon()


class ContextExit:
    """Provides `__exit__` of a `HoldingContext`, as a descriptor.

    Args:
        function: called with `held` of the context and the three exception arguments.
    """

    def __init__(self, function: Callable[..., None]) -> None:
        self._function = function

    def __get__(
        self, context: HoldingContext | None, owner: type[HoldingContext]
    ) -> Callable[..., None]:
        if context is None:  # `ExitStack` reads the attribute of the class.
            return lambda context, *error: self._function(context.held, *error)
        end = partial(self._function, context.held)
        end.context = context  # type: ignore[attr-defined]
        return end
