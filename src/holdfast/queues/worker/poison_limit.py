"""Limits how many poison tasks a worker runs at once.

The next crash of a poison task makes it dead.
"""

from __future__ import annotations

from collections.abc import Sequence

from ...core.clock import Deadline
from .claim import Claim
from .fair_share import MAX_ROUND_TRIP_S


class PoisonLimit:
    """Lets a worker run one poison task at a time, so that a crash shows which task caused it."""

    def __init__(self) -> None:
        self._running: set[Claim] = set()
        # Until then, the reply to a step in flight may contain a poison task.
        self._asked = Deadline(0)

    def next(self, slots: int) -> int:
        """Return how many poison tasks a step for *slots* slots may claim: 1 or 0.

        It is 0 if a poison task runs, or if the reply to a step in flight may contain one. A step
        counts as in flight for at most `MAX_ROUND_TRIP_S`, because its server may be unreachable.
        """
        if not slots or self._running or not self._asked.passed:
            return 0
        self._asked = Deadline(MAX_ROUND_TRIP_S)
        return 1

    def answered(self) -> None:
        """Record that the server has answered the step that was allowed to claim a poison task."""
        self._asked = Deadline(0)

    def add(self, claims: Sequence[Claim]) -> None:
        """Count the poison tasks among *claims*, which run from now on."""
        self._running.update(claim for claim in claims if claim.is_poison)

    def remove(self, claim: Claim) -> bool:
        """Return whether *claim*, which has ended, was a poison task."""
        if claim not in self._running:
            return False
        self._running.remove(claim)
        return True
