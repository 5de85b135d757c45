"""The outcome of a batch that was sent."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Sent:
    """The outcome of sending a batch.

    Attributes:
        seqs: numbers of the rows that were enqueued, which are deleted from the outbox.
        is_full: whether the queue, or one of its partitions, has no room for the other rows.
        refused: why the server will never accept the rows of the batch; empty if it may.
    """

    seqs: Sequence[int] = ()
    is_full: bool = False
    refused: str = ""

    @classmethod
    def nothing(cls) -> Sent:
        """Return the outcome if no batch was sent."""
        return cls()
