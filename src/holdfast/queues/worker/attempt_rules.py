"""Define the rules of an attempt: its timeout, and how an error settles its task."""

from __future__ import annotations

from typing import Any

from ...core.concurrency._async.cancellation import Cancelled, TimeLimit
from ...core.concurrency.thread_pool import Interrupted
from ..envelope import Envelope
from ..outcomes import ending_of
from ..registry import Task
from ..retry import Retry
from ..running_task import AttemptOutcome
from ..steps.interrupts import ClaimLost
from ..steps.running_steps import RunningSteps
from .claim import Claim


def timeout_of(envelope: Envelope, task: Task[..., Any]) -> float | None:
    """Return the seconds that an attempt may take; None: there is no limit."""
    return envelope.timeout_ms / 1000 if envelope.timeout_ms else task.timeout_s


def retry_of(envelope: Envelope, task: Task[..., Any]) -> Retry:
    """Return the retry policy of one call."""
    return envelope.retry.applied_to(task.retry) if envelope.retry else task.retry


class AttemptRules:
    """The rules of one attempt. `RunningTask` makes them available to the task.

    Args:
        claim: the claim of the task.
        task: the task.
        envelope: the call.
        steps: the steps of the task in this attempt.
        limit: ends the attempt after its timeout. None: there is no timeout; or the task is
            CPU-bound, and the worker ends its process.
    """

    __slots__ = ("_claim", "_envelope", "_limit", "_steps", "_task")

    def __init__(
        self,
        claim: Claim,
        task: Task[..., Any],
        envelope: Envelope,
        steps: RunningSteps,
        limit: TimeLimit | None,
    ) -> None:
        self._claim = claim
        self._task = task
        self._envelope = envelope
        self._steps = steps
        self._limit = limit

    @property
    def retry(self) -> Retry:
        """Return the retry policy."""
        return retry_of(self._envelope, self._task)

    @property
    def crashes(self) -> int:
        """Return the number of earlier attempts during which the worker vanished."""
        return self._claim.crashes

    @property
    def timeout_s(self) -> float | None:
        """Return the seconds that the attempt may take."""
        return timeout_of(self._envelope, self._task)

    @property
    def is_late(self) -> bool:
        """Return whether the attempt was ended because of its timeout."""
        return self._limit is not None and self._limit.expired()

    def outcome_of(self, error: BaseException) -> AttemptOutcome:
        """Return how the attempt ends if its function raises *error*."""
        if isinstance(error, ClaimLost):
            return "release"
        if isinstance(error, Cancelled | Interrupted):
            if not self.is_late:
                return "release"
            error = TimeoutError()
        if self._steps.is_left_by(error):
            return "suspend"
        return ending_of(error, self.retry, self._claim.failures, self._claim.snoozes).verb
