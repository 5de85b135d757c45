"""Define the settings of a queue with partitions that hold for the whole queue."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from .layout import QueueLayout, share

FIELDS: Final = ("layout", "whole:capacity", "whole:limit", "paused", "history")

NO_LIMIT: Final = b"0 0 0"


@dataclass(frozen=True, slots=True)
class WholeSettings:
    """The settings that the partitions of a queue share.

    Attributes:
        layout: the layout of the queue.
        capacity: tasks that may wait, 0 for no limit; None: it was never given.
        limit: concurrency, amount and window (ms) of the limit of the queue; zeros: none.
        paused: whether the queue is paused.
        history: how many ended tasks a partition keeps; None: it was never given.
    """

    layout: QueueLayout
    capacity: int | None
    limit: tuple[int, int, int]
    paused: bool
    history: int | None

    @classmethod
    def parsed(cls, values: list[bytes | None], queue: str) -> WholeSettings:
        """Return the settings in the values of `FIELDS`.

        Raises:
            ValueError, DecodeError: as `QueueLayout.parsed`.
        """
        layout, capacity, limit, paused, history = values
        concurrency, amount, per_ms = map(int, (limit or NO_LIMIT).split(b" "))
        return cls(
            QueueLayout.parsed(layout, queue),
            None if capacity is None else int(capacity),
            (concurrency, amount, per_ms),
            paused is not None,
            None if history is None else int(history),
        )

    def check_shares(self, queue: str, partitions: int) -> None:
        """Raise a ValueError if one of so many *partitions* would have a share of 0."""
        concurrency, amount, _ = self.limit
        values = {"capacity": self.capacity, "concurrency": concurrency, "rate": amount}
        for name, value in values.items():
            if value and value < partitions:
                raise ValueError(
                    f"the {name} of queue {queue!r} is {value}, and it has {partitions} partitions:"
                    " each of them needs a share of at least 1"
                )

    def capacity_of(self, index: int) -> int | None:
        """Return the capacity of a partition, 0 for no limit; None: leave it as it is."""
        if self.capacity is None or index >= self.layout.partitions:
            return None
        return share(self.capacity, index, self.layout.partitions)

    def limit_of(self, index: int) -> tuple[int, str]:
        """Return the limit of a partition, as `limit.lua` takes it.

        Partitions that take no tasks any more have a share as long as they are served.
        """
        concurrency, amount, per_ms = self.limit
        served = self.layout.served
        return share(concurrency, index, served), f"{share(amount, index, served)} {per_ms}"
