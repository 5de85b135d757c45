"""Name the keys of one value on the server. No I/O."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any
from zlib import crc32

from ..core.names import Namespace, Unit
from . import keys


class FunctionUnits:
    """The units of one function: its own, and those of its values.

    Attributes:
        function: the unit of the function itself.

    Args:
        namespace: namespace of the function.
        name: name of the function.
    """

    def __init__(self, namespace: Namespace, name: str) -> None:
        self.function: Unit = namespace.unit(keys.FUNCTION, name)
        self._namespace = namespace
        self._name = (
            self.function.name
        )  # a plain str; *name* may be of a subclass with a format of its own
        self._shards: dict[int, Unit] = {}

    def shard(self, number: int) -> Unit:
        """Return the unit of values with this *number*."""
        unit = self._shards.get(number)
        if unit is None:
            unit = self._namespace.unit(keys.SHARD, f"{self._name}/{number}")
            self._shards[number] = unit
        return unit

    def shards(self) -> list[Unit]:
        """Return all units of values."""
        return [self.shard(number) for number in range(keys.SHARDS)]

    def key(self, text: str, tags: Sequence[str]) -> CallKey:
        """Return the keys of a value.

        Args:
            text: the text that identifies the call.
            tags: tags of the value, sorted.
        """
        unit = self.shard(crc32(text.encode()) % keys.SHARDS)
        return CallKey(unit, text, tuple(self._namespace.unit(keys.TAG, tag) for tag in tags))


class CallKey:
    """The keys of one value.

    Attributes:
        unit: unit of the value.
        text: the text that identifies the call.
        tags: units of its tags.
        value: key of the value.
        guards: keys of the epochs on which the value depends: that of its unit, then those of its
            tags.
        load: key of its lease.
        events: unit that has no keys, only a channel; callers that wait for the value follow it.
        near: name of the value in the memory of this process; empty until it is set.
        prepared: the packed call that reads the value; set by its first read.
    """

    __slots__ = ("events", "guards", "load", "near", "prepared", "tags", "text", "unit", "value")

    def __init__(self, unit: Unit, text: str, tags: tuple[Unit, ...]) -> None:
        self.unit: Unit = unit
        self.text: str = text
        self.tags: tuple[Unit, ...] = tags
        self.value: str = keys.value(unit, text)
        self.load: str = keys.load(unit, text)
        self.guards: tuple[str, ...] = (keys.epoch(unit), *map(keys.epoch, tags))
        self.events: Unit = replace(unit, prefix=unit.key(f"stored:{text}:"))
        self.near: str = ""
        self.prepared: Any = None
