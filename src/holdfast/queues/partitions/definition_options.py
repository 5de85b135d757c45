"""The options that a program gives for a queue, and what to do if the server stores other ones."""

from __future__ import annotations

from typing import NamedTuple

from ...core.definitions import OnConflict


class CapacityOption(NamedTuple):
    """The capacity that this program gives to a queue."""

    tasks: int
    on_conflict: OnConflict


class PartitionsOption(NamedTuple):
    """The number of partitions that this program gives to a queue."""

    number: int
    on_conflict: OnConflict
