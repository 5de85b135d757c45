"""What a counter says of itself."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class CounterState:
    """What a counter keeps.

    Attributes:
        precisions: seconds of one sample, each; ascending.
        keep: how many samples of each are there at least.
    """

    precisions: tuple[int, ...]
    keep: int
