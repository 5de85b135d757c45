"""Provide `shared`: a property that creates its object on first use, for locks, queues …"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, TypeVar

Part = TypeVar("Part")


class shared(Generic[Part]):  # noqa: N801 (a decorator, as `property` is one)
    """Turn a method into a property that calls it on first use and keeps its result.

    Two threads may call the method at the same time; both get the result that was stored first. So
    the method must have no side effects.
    """

    def __init__(self, make: Callable[[Any], Part]) -> None:
        self._make = make
        self._name = make.__name__

    def __get__(self, owner: object, kind: type | None = None) -> Part:
        part: Part = vars(owner).setdefault(self._name, self._make(owner))  # atomic
        return part
