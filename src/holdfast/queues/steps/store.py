"""Stores and reads the steps of running tasks, for a worker."""

from __future__ import annotations

from collections.abc import Coroutine
from typing import Any, Final, Protocol, TypeVar

from ...core._async.caller import AsyncCaller
from ...core.clock import backoff_s
from ...core.concurrency._async.primitives import sleep
from ...core.concurrency.loop_thread import OwnLoop
from ...core.names import Unit
from ...core.script import Script
from ...core.telemetry import Telemetry
from ...errors import HoldfastError, OutcomeUnknown, ServerRefused, ServerUnavailable
from ...errors.one_line_logger import logger_of
from ._async.reading import read_steps
from .history import StepHistory
from .interrupts import ClaimLost, StepInterrupt, StepRefused, TaskSuspended
from .step_record import BegunStep, StepRecord

logger: Final = logger_of("holdfast.worker")

RECORD: Final = Script.load("holdfast.queues", "record_step")
WAIT: Final = Script.load("holdfast.queues", "wait_step")

_PAUSE_S: Final = 1.0
_SLICE_S: Final = 1.0
"""Seconds after which a thread that waits for the server can be interrupted."""

Result = TypeVar("Result")


class Claimed(Protocol):
    """A task as a worker has claimed it."""

    @property
    def key(self) -> bytes:
        """Return the id as it is stored."""

    @property
    def task_id(self) -> str:
        """Return the id for people."""

    @property
    def token(self) -> int:
        """Return the token of the claim."""

    @property
    def attempt(self) -> int:
        """Return the number of the attempt."""

    @property
    def has_steps(self) -> bool:
        """Return whether an earlier claim has stored steps of the task."""


class StepStore:
    """Stores the steps of the tasks of one queue. Made in the loop of the worker.

    Each call is repeated until the server answers, or the task is stopped because its lease is
    lost. So a step that has run is not repeated because of a short outage.

    Args:
        caller: sends the calls.
        unit: the queue.

    Attributes:
        unit: the queue.
    """

    def __init__(self, caller: AsyncCaller, unit: Unit) -> None:
        self.unit = unit
        self.telemetry: Telemetry | None = caller.settings.telemetry
        self._caller = caller
        self._loop = OwnLoop()
        self._record_keys = RECORD.keys(unit)
        self._wait_keys = WAIT.keys(unit)

    def wait_here(self, work: Coroutine[Any, Any, Result]) -> Result:
        """Run *work* in the loop of the worker, for a plain task in its thread."""
        submitted = self._loop.submit(work)
        try:
            while not submitted.wait(_SLICE_S):
                pass
            return submitted.result()
        except BaseException:
            submitted.cancel()
            raise

    async def history(self, claim: Claimed, task: str) -> StepHistory:
        """Return the stored steps of a claimed task.

        Raises:
            ClaimLost: the worker does not hold the task any more.
        """
        found = await read_steps(self._answered, self.unit, claim.key, str(claim.token))
        if found is None:
            raise ClaimLost
        return StepHistory(task, found.records, found.begun)

    async def record(self, claim: Claimed, number: int, record: StepRecord) -> None:
        """Store how step *number* ended.

        Raises:
            StepRefused: the task has no room for it.
            ClaimLost: the worker does not hold the task any more.
        """
        args = [claim.key, str(claim.token), number, record.sent()]
        verdict = await self._answered(RECORD, self._record_keys, args)
        _check(verdict, claim, record.name)

    async def wait(self, claim: Claimed, number: int, begun: BegunStep, wait_ms: int) -> StepRecord:
        """Begin step *number*, a sleep or a wait. End it if its time or its signal has come.

        Returns:
            the record of the step, which has ended.

        Raises:
            TaskSuspended: the step has not ended, so the task stops until then.
            StepRefused, ClaimLost: see `record`.
        """
        args: list[Any] = [claim.key, str(claim.token), number, begun.kind, begun.name]
        args += [begun.signal, wait_ms, str(claim.attempt)]
        verdict, *rest = await self._answered(WAIT, self._wait_keys, args)
        if verdict == b"ended":
            return StepRecord.parsed(rest[0])
        if verdict == b"waits":
            raise TaskSuspended(begun.kind, begun.name, int(rest[0]))
        _check(verdict, claim, begun.name)
        raise AssertionError(verdict)

    async def _answered(self, script: Script, names: Any, args: list[Any]) -> Any:
        failures = 0
        while True:
            try:
                return await self._caller.call(script, self.unit, names, args, harmless=True)
            except (ServerUnavailable, OutcomeUnknown) as error:
                if isinstance(error, ServerRefused) and error.rejection:
                    raise StepInterrupt(str(error)) from error
                failures += 1
                if failures == 1:
                    logger.warning("a step of a task of %s is repeated: %s", self.unit, error)
                await sleep(backoff_s(failures, 0.05, _PAUSE_S))
            except HoldfastError as error:  # so that no `except Exception` of the task catches it
                raise StepInterrupt(str(error)) from error


def _check(reply: bytes, claim: Claimed, name: str) -> None:
    """Raise the error of a *reply*, unless it is `stored`."""
    if reply == b"lost":
        raise ClaimLost
    if reply == b"full":
        raise StepRefused(
            f"step {name!r} of task {claim.task_id!r} cannot be stored: the steps of a task take "
            "16 MiB at most; store large results elsewhere, and return where they are"
        )
    if reply != b"stored":
        raise StepInterrupt(f"step {name!r} of task {claim.task_id!r} has changed on the server")
