"""What the blocks of a client share, made when it is first used."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, TypeVar

Part = TypeVar("Part")


class shared(Generic[Part]):  # noqa: N801 (a decorator, as `property` is one)
    """An attribute that its method makes when it is first used: one for all threads.

    Two that come at the same moment may both make one, and then both get the same. So the method
    must do nothing that has to be undone.
    """

    def __init__(self, make: Callable[[Any], Part]) -> None:
        self._make = make
        self._name = make.__name__

    def __get__(self, owner: object, kind: type | None = None) -> Part:
        part: Part = vars(owner).setdefault(self._name, self._make(owner))  # atomic
        return part
