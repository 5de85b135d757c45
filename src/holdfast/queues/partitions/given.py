"""What a program gives for a queue, and what happens if the server stores something else."""

from __future__ import annotations

from typing import NamedTuple

from ...core.definitions import OnConflict


class GivenCapacity(NamedTuple):
    """The capacity that this program gives to a queue."""

    tasks: int
    on_conflict: OnConflict


class GivenPartitions(NamedTuple):
    """The number of partitions that this program gives to a queue."""

    number: int
    on_conflict: OnConflict
