"""Runs one claimed task and says what is to become of it."""

from __future__ import annotations

import inspect
import logging
import time
from collections.abc import Callable
from contextvars import copy_context
from dataclasses import dataclass
from typing import Any, Final, Literal

from ...core.clock import MAX_MS, from_epoch_ms
from ...core.runtime._async import Cancelled, Threads, being_cancelled, in_executor
from ...errors import DecodeError, UnknownTask
from ..envelope import Envelope
from ..registry import Task, TaskRegistry
from .context import RunningTask, enter

logger = logging.getLogger("holdfast.worker")

_REASON_LIMIT: Final = 500
"""Characters of a reason that are kept: enough to see what it was, the rest is in the log."""


@dataclass(frozen=True, slots=True, eq=False)
class Claim:
    """A task as a step handed it over.

    Attributes:
        key: its id as it is stored, which a stranger may have written.
        token: grows with every claim; settling must present it.
        attempt: 1 for the first; a claim that was given back does not count.
        crashes: earlier attempts whose worker vanished.
        body: the envelope, not yet looked at.
    """

    key: bytes
    token: int
    attempt: int
    crashes: int
    body: bytes

    @property
    def task_id(self) -> str:
        """Its id, for people and for the task itself."""
        return self.key.decode(errors="backslashreplace")

    @property
    def failures(self) -> int:
        """How often it raised before."""
        return self.attempt - self.crashes - 1


@dataclass(frozen=True, slots=True)
class Verdict:
    """What is to become of a claimed task, for the next step to write down.

    Attributes:
        claim: of which task.
        verb: `done`, `retry`, `dead` or `release` (back to the front, no attempt spent).
        detail: milliseconds to wait (retry), or the reason (dead).
    """

    claim: Claim
    verb: Literal["done", "retry", "dead", "release"]
    detail: str | int = ""


class Runner:
    """Runs tasks of one queue.

    Args:
        registry: what may run.
        queue: for the logs and for the tasks themselves.
        threads: where plain functions run.
    """

    def __init__(self, registry: TaskRegistry, queue: str, threads: Threads) -> None:
        self._registry = registry
        self._queue = queue
        self._threads = threads

    async def run(self, claim: Claim) -> Verdict:
        """Run the task of *claim*. Whatever it does, there is a verdict.

        Raises:
            Cancelled: the worker stops, or has lost the lease.
        """
        started = time.monotonic()
        name = ""
        raised: BaseException | None = None
        try:
            envelope = Envelope.unpacked(claim.body, claim.task_id)
            name = envelope.task
            task = self._registry.get(name)
            args, kwargs = task.converted(envelope.args, envelope.kwargs)
        except DecodeError as error:
            verdict = _dead(claim, "bad-arguments" if name else "undecodable", error)
        except UnknownTask as error:
            verdict = _dead(claim, "unknown-task", error)
        else:
            try:
                await self._invoke(task, self._described(claim, envelope), args, kwargs)
                verdict = Verdict(claim, "done")
            except (Exception, SystemExit) as error:  # noqa: BLE001 (whatever it is, it is the task's)
                raised = error
                verdict = _failed(claim, task, error)
        level = _LEVELS[verdict.verb]
        if logger.isEnabledFor(level):
            self._log(level, verdict, name, time.monotonic() - started, raised)
        return verdict

    async def _invoke(
        self, task: Task[..., Any], running: RunningTask, args: Any, kwargs: Any
    ) -> None:
        enter(running)  # each task runs in a context of its own
        function: Callable[..., Any] = task.function
        try:
            if task.is_async:
                await function(*args, **kwargs)
            else:
                run = copy_context().run
                result = await in_executor(self._threads, run, lambda: function(*args, **kwargs))
                if inspect.isawaitable(result):  # an async function behind a plain decorator
                    await result
        except Cancelled as error:
            if being_cancelled():
                raise
            raise RuntimeError("the task cancelled itself") from error

    def _described(self, claim: Claim, envelope: Envelope) -> RunningTask:
        enqueued_at = None
        if 0 < envelope.enqueued_ms < MAX_MS:
            enqueued_at = from_epoch_ms(envelope.enqueued_ms)
        return RunningTask(
            claim.task_id, envelope.task, self._queue, claim.attempt, claim.token, enqueued_at
        )

    def _log(
        self,
        level: int,
        verdict: Verdict,
        name: str,
        duration_s: float,
        raised: BaseException | None,
    ) -> None:
        """One record per attempt: what became of which task, and how long it took."""
        claim = verdict.claim
        logger.log(
            level,
            "task %s (%s) of queue %s, attempt %d, %.3f s: %s",
            claim.task_id,
            name or "?",
            self._queue,
            claim.attempt,
            duration_s,
            _OUTCOMES[verdict.verb].format(verdict.detail),
            exc_info=raised,
            extra={
                "holdfast_task_id": claim.task_id,
                "holdfast_task": name,
                "holdfast_queue": self._queue,
                "holdfast_attempt": claim.attempt,
                "holdfast_duration_s": duration_s,
                "holdfast_outcome": verdict.verb,
            },
        )


_LEVELS: Final = {"done": logging.INFO, "retry": logging.WARNING, "dead": logging.ERROR}
_OUTCOMES: Final = {"done": "done", "retry": "failed, runs again in {} ms", "dead": "dead, {}"}


def _failed(claim: Claim, task: Task[..., Any], error: BaseException) -> Verdict:
    wait_ms = task.retry.wait_ms(claim.failures + 1)
    if wait_ms is None:
        return _dead(claim, "failed", error)
    return Verdict(claim, "retry", wait_ms)


def _dead(claim: Claim, kind: str, error: BaseException) -> Verdict:
    text = _told(error) if kind == "failed" else str(error)
    # What a task says may be anything; what is stored must be text that travels.
    reason = f"{kind}: {text}"[:_REASON_LIMIT].encode(errors="backslashreplace").decode()
    return Verdict(claim, "dead", reason[:_REASON_LIMIT])


def _told(error: BaseException) -> str:
    """The error in words, also if it cannot say them itself."""
    try:
        return f"{type(error).__name__}: {error}"
    except Exception:  # noqa: BLE001 (a __str__ of the task's own may raise whatever it likes)
        return f"{type(error).__name__}: its message cannot be read"
