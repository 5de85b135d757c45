"""`shared`: an attribute that several blocks of a client use, created at first use."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, TypeVar

Part = TypeVar("Part")


class shared(Generic[Part]):  # noqa: N801 (a decorator, as `property` is one)
    """A property that its method creates at first use: one object for all threads.

    Two threads may run the method at the same moment; both get the object that was stored first. So
    the method must have no side effects.
    """

    def __init__(self, make: Callable[[Any], Part]) -> None:
        self._make = make
        self._name = make.__name__

    def __get__(self, owner: object, kind: type | None = None) -> Part:
        part: Part = vars(owner).setdefault(self._name, self._make(owner))  # atomic
        return part
