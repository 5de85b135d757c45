"""The outcome of a batch that was sent."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Sent:
    """The outcome of sending a batch.

    Attributes:
        rows: how many rows were enqueued, and leave the outbox.
        is_full: whether the queue has no room for the batch.
        refused: why the server will never accept its row; empty if it accepts it.
    """

    rows: int = 0
    is_full: bool = False
    refused: str = ""

    @classmethod
    def nothing(cls) -> Sent:
        """Return the outcome if no batch was sent."""
        return cls()
