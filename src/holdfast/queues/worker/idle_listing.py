"""Follow whether the server lists a worker as idle in a queue: then producers claim for it."""

from __future__ import annotations

from ...core.clock import Deadline
from .direct_claims import DIRECT_S
from .step import Step, StepReply


class IdleListing:
    """Follows the list of idle workers of a queue by the replies to the worker's steps.

    Attributes:
        is_listed: whether the server may list the worker.
    """

    def __init__(self) -> None:
        self.is_listed: bool = False
        self._taken = Deadline(0)

    @property
    def claim_may_come(self) -> bool:
        """Return whether the message of a claim for the worker may still arrive.

        Another script took the worker from the list shortly before: to claim a task for it, or only
        to notify it.
        """
        return not self._taken.passed

    def answered(self, step: Step, reply: StepReply) -> None:
        """Note the *reply* to *step*."""
        if self.is_listed and not reply.was_idle:
            self._taken = Deadline(DIRECT_S)
        self.is_listed = step.want > 0 and not reply.is_full
