"""Runs one claimed task and decides how to settle it."""

from __future__ import annotations

import inspect
import logging
import time
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import replace
from functools import partial
from typing import Any, Final, Protocol

import msgspec

from ...core.concurrency._async.background_task import current_task, is_cancelling, is_current_task
from ...core.concurrency._async.cancellation import Cancelled, TimeLimit, time_limit
from ...core.error_text import type_name
from ...core.names import Unit
from ...core.telemetry import Activity, Fact, during
from ...core.trace import TraceContext, enter_trace
from ...errors import DecodeError, UnknownTask
from ..ended_task import name_fact
from ..envelope import Envelope, is_newer
from ..registry import Task, TaskRegistry
from ..running_task import RunningTask, enter
from ..steps.running_steps import AsyncSteps, PlainSteps
from ..steps.store import StepStore
from . import settlements
from .attempt_events import AttemptEvents, EventSink
from .attempt_log import log_attempt
from .attempt_rules import AttemptRules, timeout_of
from .claim import Claim
from .cpu_pool import CpuPool, TaskCrashed
from .step import Settlement

_NAMES_LIMIT: Final = 1000
"""Names of tasks that are cached."""


class FunctionRunner(Protocol):
    """Runs plain functions for an event loop, as `Threads` does."""

    async def run(self, function: Callable[[], Any]) -> Any:
        """Run *function* and return what it returns."""


class Runner:
    """Runs tasks of one queue.

    Args:
        registry: the tasks that may run.
        unit: the queue.
        threads: run plain functions.
        unknown_ms: how long a task that is not in the registry waits for a worker that knows it.
        state: what the lifespan yielded.
        events: takes the events of the tasks.
        cpu: runs CPU-bound tasks. None: this is one of its child processes, which runs them here;
            the worker watches their timeout.
        steps: stores the steps of tasks, and has the telemetry. None: this is a child process.

    Attributes:
        last_error: type of the exception that the last task raised; empty if it raised none.
    """

    def __init__(
        self,
        registry: TaskRegistry,
        unit: Unit,
        threads: FunctionRunner,
        unknown_ms: int,
        state: Mapping[str, Any],
        events: EventSink,
        *,
        cpu: CpuPool | None,
        steps: StepStore | None,
    ) -> None:
        self.last_error: str = ""
        self._cpu = cpu
        self._steps = steps
        self._registry = registry
        self._middleware = registry.middleware
        self._state = state
        self._unit = unit
        self._telemetry = steps.telemetry if steps is not None else None
        self._events = events
        self._threads = threads
        self._unknown_ms = unknown_ms
        self._unknown: set[str] = set()  # names of unknown tasks that were logged
        self._name_facts: dict[str, str] = {}  # bounded: other programs may enqueue any name

    async def run(self, claim: Claim) -> Settlement:
        """Run the task of *claim*, and return its settlement, whatever the task does.

        Raises:
            Cancelled: the worker stops, or has lost the lease.
        """
        started = time.monotonic()
        envelope: Envelope | None = None
        task: Task[..., Any] | None = None
        raised: BaseException | None = None
        try:
            envelope = Envelope.unpacked(claim.body, claim.task_id)
            enter_trace(envelope.trace)
            task = self._registry.get(envelope.task)
            cpu = self._cpu if task.cpu else None
            if cpu is None:
                args, kwargs = task.converted(envelope.args, envelope.kwargs)
        except (DecodeError, UnknownTask) as error:
            settlement = self._refused(claim, envelope, error)
        except BaseException as error:  # an argument type of the user raised it
            if task is None or envelope is None:
                raise
            raised, settlement = error, settlements.failed(claim, task, envelope, error)
            with self._recorded(claim, envelope, task.name) as work:
                enter_trace(work.trace)
                work.ended(settlement.verb, type_name(type(error)))
        else:
            if cpu is not None:
                return await self._run_in_child(cpu, claim, envelope, task)
            if self._telemetry is None:
                settlement, raised = await self._outcome(claim, envelope, task, args, kwargs)
            else:
                with self._recorded(claim, envelope, task.name) as work:
                    enter_trace(work.trace)
                    settlement, raised = await self._outcome(claim, envelope, task, args, kwargs)
                    error_name = type_name(type(raised)) if raised is not None else ""
                    work.ended(settlement.verb, error_name)
        self.last_error = type_name(type(raised)) if raised is not None else ""
        name = envelope.task if envelope else ""
        level = None
        if settlement.verb == "park":
            level = logging.DEBUG if name in self._unknown else None
            self._unknown.add(name)
        duration_s = time.monotonic() - started
        settlement.seconds = duration_s
        settlement.facts = f"{int(duration_s * 1e6)}{self._name_fact(name)}"
        log_attempt(settlement, self._unit.name, name, duration_s, raised, level=level)
        return settlement

    def cancelled_itself(self, claim: Claim) -> Settlement:
        """Return the settlement of a task that has cancelled itself: the attempt has failed."""
        envelope = Envelope.unpacked(claim.body, claim.task_id)
        task, error = self._registry.get(envelope.task), RuntimeError("the task cancelled itself")
        settlement = settlements.failed(claim, task, envelope, error)
        settlement.facts = f"0{self._name_fact(task.name)}"
        log_attempt(settlement, self._unit.name, task.name, 0.0, error)
        return settlement

    async def _run_in_child(
        self, cpu: CpuPool, claim: Claim, envelope: Envelope, task: Task[..., Any]
    ) -> Settlement:
        """Run a CPU-bound task in a child process, which logs how it ended if it can."""
        started = time.monotonic()

        def begin() -> None:
            nonlocal started
            started = time.monotonic()

        report = partial(self._report, AttemptEvents(claim, self._events))
        raised: BaseException | None = None
        timeout_s = timeout_of(envelope, task)
        with self._recorded(claim, envelope, task.name) as work:
            enter_trace(work.trace)
            try:
                sent = _traced(claim, envelope, work.trace)
                settlement, error = await cpu.run(sent, self._unit.name, timeout_s, begin, report)
                settlement = replace(settlement, claim=claim)
            except TaskCrashed as crash:
                raised, settlement = crash, settlements.crashed(claim, task, crash)
            except (TimeoutError, RuntimeError, ValueError) as failure:
                raised = _late(timeout_s) if isinstance(failure, TimeoutError) else failure
                settlement = settlements.failed(claim, task, envelope, raised)
            if raised is not None:
                error = type_name(type(raised))
            work.ended(settlement.verb, error)
        duration_s = time.monotonic() - started
        settlement.seconds = duration_s
        settlement.facts = f"{int(duration_s * 1e6)}{self._name_fact(task.name)}"
        if raised is not None:
            unusual = raised if isinstance(raised, RuntimeError | ValueError) else None
            log_attempt(settlement, self._unit.name, task.name, duration_s, unusual)
        return settlement

    async def _report(self, attempt: AttemptEvents, kind: bytes, data: bytes) -> None:
        """Take an event of a child process, which waits while there is no room."""
        attempt.add(kind, data)
        await self._events.wait_for_room(attempt)

    async def _outcome(
        self, claim: Claim, envelope: Envelope, task: Task[..., Any], args: Any, kwargs: Any
    ) -> tuple[Settlement, BaseException | None]:
        """Run the function. Return the settlement, and the exception if it raised a failure."""
        events = AttemptEvents(claim, self._events)
        make = AsyncSteps if task.is_async else PlainSteps
        steps, group_id = make(self._steps, claim, task.name), envelope.group_id
        timeout_s = timeout_of(envelope, task)
        limit = None if timeout_s is None or task.cpu else time_limit(timeout_s)
        running = RunningTask(
            claim.task_id,
            task.name,
            self._unit.name,
            claim.attempt,
            claim.token,
            envelope.enqueued_ms,
            envelope.headers,
            claim.snoozes,
            args,
            kwargs,
            self._state,
            events.add,
            steps,
            group_id,
            AttemptRules(claim, task, envelope, steps, limit),
        )
        here = current_task()
        try:
            result = await self._invoke(task, running, limit, args, kwargs)
            if steps.suspended is not None:  # the task caught the exception
                return settlements.suspended(claim, task, steps.suspended), None
            if claim.has_steps or len(steps):
                await steps.check_end()
            return settlements.done(claim, task, result, is_member=bool(group_id)), None
        except Cancelled:
            raise
        except BaseException as error:  # the task raised it
            # Only a GeneratorExit may come from outside, if the loop closes this coroutine.
            if type(error) is GeneratorExit and not is_current_task(here):
                raise
            if steps.suspended is not None and steps.is_left_by(error):
                return settlements.suspended(claim, task, steps.suspended), None
            settlement = settlements.failed(claim, task, envelope, error)
            return settlement, None if settlement.verb == "snooze" else error
        finally:
            events.is_over = True

    async def _invoke(
        self,
        task: Task[..., Any],
        running: RunningTask,
        limit: TimeLimit | None,
        args: Any,
        kwargs: Any,
    ) -> Any:
        enter(running)  # each task runs in a context of its own
        if limit is None:
            return await self._result(task, running, args, kwargs)
        try:
            async with limit:
                return await self._result(task, running, args, kwargs)
        except TimeoutError as error:
            if not limit.expired():
                raise
            late = _late(running.timeout_s)
            for note in getattr(
                error.__context__, "__notes__", ()
            ):  # they say where the thread was
                late.add_note(note)
            raise late from None

    async def _result(
        self, task: Task[..., Any], running: RunningTask, args: Any, kwargs: Any
    ) -> Any:
        function: Callable[..., Any] = task.function
        middleware = self._middleware
        try:
            if task.is_async:
                if middleware.around_async:
                    function = partial(function, *args, **kwargs)
                    return await middleware.wrapped_async(running, function)()
                return await function(*args, **kwargs)
            function = partial(function, *args, **kwargs)
            if middleware.around_plain:
                function = middleware.wrapped_plain(running, function)
            result = await self._threads.run(function)
            if _is_awaitable(result):  # an async function behind a plain decorator
                return await result
        except Cancelled as error:
            if is_cancelling():
                raise
            raise RuntimeError("the task cancelled itself") from error
        return result

    def _name_fact(self, name: str) -> str:
        fact = self._name_facts.get(name)
        if fact is None:
            fact = name_fact(name)
            if len(self._name_facts) < _NAMES_LIMIT:
                self._name_facts[name] = fact
        return fact

    def _refused(
        self, claim: Claim, envelope: Envelope | None, error: DecodeError | UnknownTask
    ) -> Settlement:
        """Return the settlement of a task that cannot run here, and record the attempt.

        An unregistered task name is not used as a label of the telemetry, because another program
        may enqueue any number of names.
        """
        name = ""
        if isinstance(error, UnknownTask):
            settlement = settlements.parked(claim, "unknown-task", error, self._unknown_ms)
        elif envelope is not None:
            name = envelope.task
            settlement = settlements.dead(claim, "bad-arguments", error)
        elif is_newer(claim.body):
            settlement = settlements.parked(claim, "unknown-version", error, self._unknown_ms)
        else:
            settlement = settlements.dead(claim, "undecodable", error)
        with self._recorded(claim, envelope, name) as work:
            enter_trace(work.trace)
            work.ended(settlement.verb, type_name(type(error)))
        return settlement

    def _recorded(
        self, claim: Claim, envelope: Envelope | None, name: str
    ) -> AbstractContextManager[Activity]:
        """Record one attempt; *name* is empty for a task that is not in the registry."""
        trace = envelope.trace if envelope is not None else None
        facts: dict[str, Fact] = {"id": claim.task_id, "task": name, "attempt": claim.attempt}
        return during(self._telemetry, "process", self._unit, trace=trace, facts=facts)


def _late(timeout_s: float | None) -> TimeoutError:
    return TimeoutError(f"it took longer than its timeout, {timeout_s:g} s")


def _traced(claim: Claim, envelope: Envelope, trace: TraceContext | None) -> Claim:
    """Return *claim* with *trace* in its envelope, so that a child process continues the trace."""
    if trace is None or trace == envelope.trace:
        return claim
    headers = {"traceparent": trace.traceparent, "tracestate": trace.tracestate}
    body = msgspec.structs.replace(envelope, **headers).packed()
    return msgspec.structs.replace(claim, body=body)


def _is_awaitable(result: Any) -> bool:
    """Return whether *result* is awaitable. If looking at it raises an exception, it is not."""
    try:
        return inspect.isawaitable(result)
    except BaseException:  # noqa: BLE001 (`__class__` of the object may be any property)
        return False
