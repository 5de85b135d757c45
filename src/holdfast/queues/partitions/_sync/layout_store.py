# Generated from _async/layout_store.py by tools/unasync.py: edit that, then run `make sync`.
"""Reads the layouts of queues, remembers them, and returns the units of their partitions."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Final

from ....core._sync.caller import Caller
from ....core.names import Namespace, Unit
from ....core.stored import decoding
from ... import keys
from ..layout import UNPARTITIONED, QueueLayout, partition_name
from ..whole_settings import FIELDS, WholeSettings

FRESH_S: Final = 5.0
"""Seconds for which calls that only read use a remembered layout. Calls that enqueue need no limit,
because the scripts refuse them if the layout has changed."""

MOST: Final = 4096
"""Layouts and partitions that are remembered."""


class LayoutStore:
    """The layouts of the queues of a namespace.

    Args:
        caller: sends the commands.
        namespace: namespace of the queues.
    """

    def __init__(self, caller: Caller, namespace: Namespace) -> None:
        self._caller = caller
        self._namespace = namespace
        self._layouts: dict[str, tuple[QueueLayout, float]] = {}
        self._units: dict[tuple[str, int], Unit] = {}

    def unit(self, queue: str, index: int = 0) -> Unit:
        """Return the unit of a partition. It has the name of the queue, for people to read."""
        unit = self._units.get((queue, index))
        if unit is None:
            if len(self._units) >= MOST:
                self._units.clear()
            unit = self._namespace.unit(keys.KIND, partition_name(queue, index))
            unit = self._units[queue, index] = replace(unit, name=queue)
        return unit

    def known(self, queue: str) -> QueueLayout:
        """Return the layout that was read last; if none was, that of a queue without partitions."""
        found = self._layouts.get(queue)
        return UNPARTITIONED if found is None else found[0]

    def current(self, queue: str) -> QueueLayout:
        """Return the layout; it may be some seconds old."""
        found = self._layouts.get(queue)
        if found is not None and time.monotonic() - found[1] < FRESH_S:
            return found[0]
        return self.read(queue)

    def read(self, queue: str) -> QueueLayout:
        """Read the layout."""
        unit = self.unit(queue)
        text = self._caller.read(unit, "HGET", keys.settings(unit), "layout")
        return self.learn(queue, text)

    def learn(self, queue: str, text: bytes | None) -> QueueLayout:
        """Remember the layout in *text*, as it is stored."""
        layout = QueueLayout.parsed(text, queue)
        if len(self._layouts) >= MOST:
            self._layouts.clear()
        self._layouts[queue] = layout, time.monotonic()
        return layout

    def settings(self, queue: str) -> WholeSettings:
        """Read the settings that hold for the whole queue.

        Raises:
            ValueError: *queue* is a partition of another queue.
        """
        unit = self.unit(queue)
        values = self._caller.read(unit, "HMGET", keys.settings(unit), *FIELDS)
        self.learn(queue, values[0]).check_whole(queue)
        with decoding(keys.settings(unit)):
            return WholeSettings.parsed(values, queue)

    def units(self, queue: str, *, fresh: bool = False) -> list[Unit]:
        """Return the partitions that may have tasks.

        Args:
            queue: name of the queue.
            fresh: whether to read the layout in any case.
        """
        layout = self.read(queue) if fresh else self.current(queue)
        return [self.unit(queue, index) for index in range(layout.served)]
