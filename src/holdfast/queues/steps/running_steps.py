"""The steps of one run of a task: `step`, `sleep` and `wait_for`."""

from __future__ import annotations

import inspect
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Final

from ...core.codec import JSON, decoded
from ...core.concurrency._async.cancellation import Cancelled
from ...core.concurrency.thread_pool import Interrupted
from ...core.error_text import leaves_of, type_name
from ...core.telemetry import during
from ...errors import SignalTimeout
from .failures import failure_of_cancellation, restored_failure, stored_failure
from .history import StepHistory
from .interrupts import StepInterrupt, StepRefused, TaskSuspended
from .result_type import ResultType
from .step_record import BegunStep, Kind, Outcome, StepRecord, checked_name
from .store import Claimed, StepStore

Function = Callable[..., Any]

_current: ContextVar[str] = ContextVar("holdfast_step")
"""The name of the step that runs here."""

_SEVERAL: Final = (
    "the steps of a task run one after the other: run what shall happen at the same time in one "
    "step, or as the members of a group"
)


class RunningSteps:
    """The steps of one run of a task. The stored steps are read when the task requests its first
    step.

    Args:
        store: stores the steps. None: the task runs in a child process, which has no connection.
        claim: the claim of the task.
        task: name of the task.

    Attributes:
        suspended: the exception that has suspended the run; None: it is not suspended.
    """

    __slots__ = ("_active", "_claim", "_history", "_store", "_task", "suspended")

    def __init__(self, store: StepStore | None, claim: Claimed, task: str) -> None:
        self.suspended: TaskSuspended | None = None
        self._store = store
        self._claim = claim
        self._task = task
        self._history: StepHistory | None = None
        self._active = ""

    def __len__(self) -> int:
        return len(self._history) if self._history is not None else 0

    def is_left_by(self, error: BaseException) -> bool:
        """Return whether *error* only means that this run is suspended."""
        return self.suspended is not None and all(
            isinstance(leaf, TaskSuspended) for leaf in leaves_of(error)
        )

    async def check_end(self) -> None:
        """Raise `StepsChanged` if a run that returns has not requested all stored steps."""
        if self._history is None and self._claim.has_steps and self._store is not None:
            self._history = await self._store.history(self._claim, self._task)
        if self._history is not None:
            self._history.check_end()

    @contextmanager
    def _alone(self, name: str) -> Iterator[StepStore]:
        """Refuse a step inside of a step, and two steps at the same time. Yield the store."""
        if self._store is None:
            raise StepRefused(
                f"task {self._task!r} has cpu=True, so it runs in a process that cannot store "
                "steps: give the steps to a task without cpu=True, which enqueues this one"
            )
        if self.suspended is not None:  # the task caught the exception
            raise TaskSuspended(self.suspended.kind, self.suspended.step, self.suspended.until_ms)
        if (outer := current_step()) is not None:
            raise RuntimeError(f"step {name!r} is asked for inside of step {outer!r}; {_SEVERAL}")
        if self._active:
            raise RuntimeError(
                f"step {name!r} is asked for while step {self._active!r} runs; {_SEVERAL}"
            )
        self._active = name
        try:
            yield self._store
        finally:
            self._active = ""

    async def _begin(
        self, store: StepStore, kind: Kind, name: str
    ) -> tuple[str, StepRecord | None]:
        """Return the numbered name of the next step, and its record if it has ended before."""
        if self._history is None:
            self._history = await store.history(self._claim, self._task)
        history = self._history
        if history.failure is not None:  # the task caught the exception, and continues
            await store.record(self._claim, len(history), history.failure)
            history.failure = None
        return history.ask(kind, name)

    async def _end(self, store: StepStore, record: StepRecord) -> None:
        assert self._history is not None
        await store.record(self._claim, len(self._history), record)

    async def _wait(
        self, store: StepStore, kind: Kind, name: str, signal: str, wait_ms: int
    ) -> StepRecord:
        """Return the record of a sleep or a wait that has ended.

        Raises:
            TaskSuspended: it has not ended.
        """
        numbered, record = await self._begin(store, kind, name)
        if record is not None:
            return record
        assert self._history is not None
        begun = BegunStep(kind, numbered, signal)
        try:
            return await store.wait(self._claim, len(self._history), begun, wait_ms)
        except TaskSuspended as suspended:
            self.suspended = suspended
            raise

    def _signaled(self, record: StepRecord, signal: str) -> Any:
        """Return the value of the signal that a wait has taken."""
        if record.outcome == "late":
            raise SignalTimeout(signal, self._claim.task_id)
        return decoded(JSON, record.data, Any, f"signal {signal!r}")

    def _replayed(self, record: StepRecord, kind: ResultType) -> Any:
        """Return what a step has returned before, or raise what it has raised."""
        if record.outcome == "failed":
            raise restored_failure(record.name, record.data)
        return kind.read(record.data, self._what(record.name))

    def _what(self, name: str) -> str:
        return f"the result of step {name!r} of task {self._claim.task_id!r}"

    @contextmanager
    def _running(self, store: StepStore, name: str) -> Iterator[Callable[[bytes], StepRecord]]:
        """Measure the function of a step, which runs in this context. Yield a function that makes
        its record."""
        started = time.perf_counter()

        def record(data: bytes, outcome: Outcome = "done") -> StepRecord:
            duration_us = int((time.perf_counter() - started) * 1e6)
            claim = self._claim
            facts = (claim.token, claim.attempt, 0, duration_us)
            return StepRecord("step", name, outcome, data, *facts)

        facts = {"id": self._claim.task_id, "task": self._task, "step": name}
        outer = _current.set(name)
        try:
            with during(store.telemetry, "step", store.unit, facts=facts) as activity:
                try:
                    yield record
                except (StepInterrupt, Interrupted, GeneratorExit):
                    raise
                except BaseException as error:
                    activity.ended("failed", type_name(type(error)))
                    assert self._history is not None
                    was_cancelled = isinstance(error, Cancelled)
                    kept = failure_of_cancellation(name) if was_cancelled else error
                    self._history.failure = record(stored_failure(kept), "failed")
                    raise
        finally:
            _current.reset(outer)


class AsyncSteps(RunningSteps):
    """The steps of an async task."""

    __slots__ = ()

    async def step(
        self,
        name: str,
        function: Callable[..., Any],
        args: Sequence[Any],
        kwargs: Mapping[str, Any],
    ) -> Any:
        """Implement `RunningTask.step`."""
        name, kind = checked_name(name, "the name of a step"), ResultType.of(function)
        with self._alone(name) as store:
            name, stored = await self._begin(store, "step", name)
            if stored is not None:
                return self._replayed(stored, kind)
            with self._running(store, name) as record:
                result = function(*args, **kwargs)
                if inspect.isawaitable(result):
                    result = await result
            ended = record(kind.stored(result, self._what(name)))
            await self._end(store, ended)
            return kind.read(ended.data, self._what(name))

    async def sleep(self, name: str, wait_ms: int) -> None:
        """Implement `RunningTask.sleep`."""
        with self._alone(name) as store:
            await self._wait(store, "sleep", name, "", wait_ms)

    async def wait_for(self, signal: str, wait_ms: int) -> Any:
        """Implement `RunningTask.wait_for`."""
        with self._alone(signal) as store:
            record = await self._wait(store, "wait", signal, signal, wait_ms)
        return self._signaled(record, signal)


class PlainSteps(RunningSteps):
    """The steps of a plain task, which runs in a thread."""

    __slots__ = ()

    def step(
        self,
        name: str,
        function: Callable[..., Any],
        args: Sequence[Any],
        kwargs: Mapping[str, Any],
    ) -> Any:
        """Implement `RunningTask.step`."""
        name, kind = checked_name(name, "the name of a step"), ResultType.of(function)
        with self._alone(name) as store:
            name, stored = store.wait_here(self._begin(store, "step", name))
            if stored is not None:
                return self._replayed(stored, kind)
            with self._running(store, name) as record:
                result = function(*args, **kwargs)
                if inspect.isawaitable(result):
                    raise _awaitable(name, result)
            ended = record(kind.stored(result, self._what(name)))
            store.wait_here(self._end(store, ended))
            return kind.read(ended.data, self._what(name))

    def sleep(self, name: str, wait_ms: int) -> None:
        """Implement `RunningTask.sleep`."""
        with self._alone(name) as store:
            store.wait_here(self._wait(store, "sleep", name, "", wait_ms))

    def wait_for(self, signal: str, wait_ms: int) -> Any:
        """Implement `RunningTask.wait_for`."""
        with self._alone(signal) as store:
            record = store.wait_here(self._wait(store, "wait", signal, signal, wait_ms))
        return self._signaled(record, signal)


def current_step() -> str | None:
    """Return the name of the step that runs here; None outside of the function of a step."""
    return _current.get(None)


def _awaitable(name: str, result: Any) -> TypeError:
    if inspect.iscoroutine(result):
        result.close()
    return TypeError(
        f"the function of step {name!r} is async, and its task is a plain function: make the task "
        "an async function"
    )
