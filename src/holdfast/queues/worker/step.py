"""What a claimer asks the server for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from .claim import Verdict


@dataclass(frozen=True, slots=True)
class Step:
    """A step that was asked for, and not answered yet.

    Attributes:
        writer: who asks, as the ledger knows it.
        number: the how-manieth step of the writer this is.
        channel: where this worker waits; empty when the step only settles.
        want: tasks to claim at most.
        suspects: of these, tasks that may be the next to kill their worker.
        verdicts: what is settled.
    """

    writer: str
    number: int
    channel: str = ""
    want: int = 0
    suspects: int = 0
    verdicts: Sequence[Verdict] = ()
