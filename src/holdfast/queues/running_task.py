"""Facts about the running task, for the task itself."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Mapping
from contextvars import ContextVar
from datetime import datetime, timedelta
from typing import Any, Literal, ParamSpec, Protocol, TypeAlias, TypeVar, overload

import msgspec

from ..core.clock import MAX_MS, Duration, from_epoch_ms, not_early_ms
from .events.progress import packed_progress
from .events.task_event import OWN, PROGRESS, packed_event
from .retry import Retry, from_now_s
from .steps.running_steps import AsyncSteps, PlainSteps, current_step
from .steps.step_record import checked_name

P = ParamSpec("P")
R = TypeVar("R")

AttemptOutcome: TypeAlias = Literal["retry", "snooze", "suspend", "give_up", "dead", "release"]
"""How an attempt ends if its function raises an exception.

- `retry`: it has failed, and the task runs again.
- `snooze`: the task has asked to run later.
- `suspend`: the task sleeps, or waits for a signal.
- `give_up`: the task is dead-lettered, as it has asked for with `GiveUp`.
- `dead`: the task is dead-lettered: it has failed, and no attempt is left.
- `release`: the worker gives the task back, because it stops or has lost the lease.
"""


class Rules(Protocol):
    """What the worker knows of an attempt before it ends."""

    @property
    def retry(self) -> Retry:
        """Return the retry policy."""

    @property
    def crashes(self) -> int:
        """Return the number of earlier attempts during which the worker vanished."""

    @property
    def timeout_s(self) -> float | None:
        """Return the seconds that the attempt may take."""

    @property
    def is_late(self) -> bool:
        """Return whether the attempt was ended because of its timeout."""

    def outcome_of(self, error: BaseException) -> AttemptOutcome:
        """Return how the attempt ends if its function raises *error*."""


class RunningTask(msgspec.Struct, frozen=True, eq=False):
    """The task that is running here.

    Attributes:
        task_id: id of the task. It is the same in every attempt, so it can make effects idempotent.
        task: name of the task.
        queue: the queue it came from.
        attempt: number of this attempt, from 1 on.
        token: number that grows with every claim of the task: a fence for what it writes elsewhere.
            The token of a first claim is the time of the server in microseconds.
        enqueued_ms: when it was enqueued by the producer's clock, in ms since 1970; 0: not known.
        headers: names and values that its producer gave it; see `Call.options`.
        snoozes: how often it has raised `Snooze` before.
        args: its positional arguments, converted to the types of its signature.
        kwargs: its keyword arguments, converted in the same way.
        state: what the lifespan of the worker yielded; empty without a lifespan.
        group_id: id of its group; empty if it is no member of a group.
    """

    task_id: str
    task: str
    queue: str
    attempt: int
    token: int
    enqueued_ms: int
    headers: Mapping[str, str] = {}
    snoozes: int = 0
    args: tuple[Any, ...] = ()
    kwargs: Mapping[str, Any] = {}
    state: Mapping[str, Any] = {}
    _report: Callable[[bytes, bytes], None] | None = None
    _steps: AsyncSteps | PlainSteps | None = None
    group_id: str = ""
    _rules: Rules | None = None

    @property
    def attempts(self) -> int:
        """Return how many attempts the task has at most. Those that crashed do not count."""
        return self._known().retry.attempts

    @property
    def is_last_attempt(self) -> bool:
        """Return whether the task is dead-lettered if this attempt fails."""
        rules = self._known()
        return self.attempt - rules.crashes >= rules.retry.attempts

    @property
    def timeout_s(self) -> float | None:
        """Return the seconds that this attempt may take; None: there is no limit."""
        return self._known().timeout_s

    @property
    def is_late(self) -> bool:
        """Return whether this attempt is being ended because of its timeout.

        Then middleware sees the exception that interrupts the function, and the attempt fails with
        a TimeoutError. A task with `cpu=True` is killed instead, so it sees nothing.
        """
        return self._known().is_late

    def outcome_of(self, error: BaseException) -> AttemptOutcome:
        """Return how this attempt ends if *error* is raised; for middleware.

        Args:
            error: what `call_next()` has raised.
        """
        return self._known().outcome_of(error)

    def _known(self) -> Rules:
        if self._rules is None:
            raise RuntimeError(f"task {self.task!r} has no worker that knows its options")
        return self._rules

    @overload
    def step(
        self,
        name: str,
        function: Callable[P, Coroutine[Any, Any, R]],
        /,
        *args: P.args,
        **kwargs: P.kwargs,
    ) -> Coroutine[Any, Any, R]: ...
    @overload
    def step(
        self, name: str, function: Callable[P, Any], /, *args: P.args, **kwargs: P.kwargs
    ) -> Any: ...
    def step(self, name: str, function: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
        """Run *function* once, and store its result; in later runs of the task, return that result.

        In an async task, await the call; the function may be async or plain, and runs in the event
        loop. In a plain task, the function is a plain one. An exception of the function is not
        stored, so the step runs again, unless the task catches it and asks for another step.

        Args:
            name: name of the step. A repeated name is numbered: `charge`, `charge#2`.
            function: what to run. If it is killed before its result is stored, it runs again. Its
                arguments need not be JSON, its result must be.
            args: its positional arguments.
            kwargs: its keyword arguments.

        Returns:
            Its result, of the annotated type of the function, or as JSON.

        Raises:
            TypeError: results of the annotated type cannot be stored.
            RuntimeError: another step of this task runs.
        """
        return self._started().step(name, function, args, kwargs)

    def sleep(
        self,
        duration: Duration = 0.0,
        /,
        *,
        weeks: float = 0.0,
        days: float = 0.0,
        hours: float = 0.0,
        minutes: float = 0.0,
        seconds: float = 0.0,
        name: str = "sleep",
    ) -> Any:
        """Suspend the task for a while, so that it needs no slot of a worker. In an async task,
        await it.

        This call raises `TaskSuspended`. When the time has come, the function of the task runs
        again from its beginning, and there this call returns. No attempt is counted.

        Args:
            duration: seconds (or a timedelta).
            weeks, days, hours, minutes, seconds: are added to *duration*.
            name: name of the step.
        """
        further = timedelta(
            weeks=weeks, days=days, hours=hours, minutes=minutes, seconds=seconds
        ).total_seconds()
        wait_ms = not_early_ms(from_now_s(from_now_s(duration, "sleep") + further, "sleep"))
        return self._started().sleep(checked_name(name, "the name of a step"), wait_ms)

    def wait_for(self, signal: str, timeout: Duration | None = None) -> Any:
        """Suspend the task until a signal arrives, and return its value.

        In an async task, await it. No attempt is counted. When a signal arrives, the function of
        the task runs again from its beginning. Signals are sent by `TaskHandle.signal`. A signal
        that was sent before this call is taken at once. Signals of one name are taken in the order
        in which they were sent.

        Args:
            signal: name of the signal, and of the step.
            timeout: seconds to wait at most (or a timedelta), from the first call on.

        Raises:
            SignalTimeout: no signal was sent in time; also in each later run of the task.
        """
        wait_ms = -1 if timeout is None else not_early_ms(from_now_s(timeout, "timeout"))
        return self._started().wait_for(checked_name(signal, "the name of a signal"), wait_ms)

    @property
    def step_id(self) -> str:
        """Return the id of the step that runs here: the id of the task, and the name of the step.

        It is the same whenever the step is repeated, so other systems can refuse duplicates.

        Raises:
            LookupError: no step runs here.
        """
        name = current_step()
        if name is None:
            raise LookupError("step_id was read outside of the function of a step")
        return f"{self.task_id}/{name}"

    def _started(self) -> AsyncSteps | PlainSteps:
        if self._steps is None:
            raise RuntimeError(f"task {self.task!r} has no worker that can store steps")
        return self._steps

    def __repr__(self) -> str:
        """Return a text without the arguments and the state, which may be secret."""
        names = (
            "task_id",
            "task",
            "queue",
            "attempt",
            "token",
            "enqueued_ms",
            "headers",
            "snoozes",
            "group_id",
        )
        return f"RunningTask({', '.join(f'{name}={getattr(self, name)!r}' for name in names)})"

    @property
    def enqueued_at(self) -> datetime | None:
        """Return when it was enqueued, by the producer's clock; None if that is not known."""
        return from_epoch_ms(self.enqueued_ms) if 0 < self.enqueued_ms < MAX_MS else None

    def progress(self, done: float, total: float | None = None, message: str = "") -> None:
        """Report how far the task has come, as an event with the kind `progress`.

        `TaskHandle.events` and `TaskStatus.progress` have it, and the dashboard shows a bar. The
        call waits for no server; see `emit`.

        Args:
            done: how much is done, in any unit: pages, bytes, percent.
            total: how much there is to do; None: not known.
            message: what the task does now, at most 1,000 bytes.

        Raises:
            TypeError, ValueError: an argument is invalid, such as more done than the total, or NaN.
            RuntimeError: the attempt has ended.
        """
        data = packed_progress(done, total, message)
        if self._report is not None:
            self._report(PROGRESS, data)

    def emit(self, data: Any) -> None:
        """Report an event to those who follow the task with `TaskHandle.events`.

        The worker sends the events of all its tasks together, in order, and before it settles the
        attempt. The server keeps the newest 1,000 events of a task, of at most 1 MiB.

        The call takes microseconds. If that many events of the task are still to be sent, then a
        plain function waits for about a round trip; an async function cannot wait here, and loses
        its oldest events. Readers get a `Gap` for those.

        Args:
            data: any value that JSON can store, of at most 64 KiB.

        Raises:
            TypeError: JSON cannot store *data*.
            PayloadTooLarge: *data* is too large.
            RuntimeError: the attempt has ended.
        """
        packed = packed_event(data, self.task)
        if self._report is not None:
            self._report(OWN, packed)


_running: ContextVar[RunningTask] = ContextVar("holdfast_running_task")


def current_task() -> RunningTask:
    """Return the task that is running here, in its coroutine or its thread.

    Raises:
        LookupError: no task of a worker is running here.
    """
    try:
        return _running.get()
    except LookupError:
        raise LookupError("current_task() was called outside of a task run by a worker") from None


def enter(task: RunningTask) -> None:
    """Make *task* the one that `current_task` returns in this context."""
    _running.set(task)
