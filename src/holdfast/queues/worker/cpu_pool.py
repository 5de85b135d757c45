"""Runs the CPU-bound tasks of a worker in child processes."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Collection
from contextlib import nullcontext
from typing import Any, Final

import msgspec

from ...core.concurrency._async.background_task import RunningTask, spawn, wait_ended
from ...core.concurrency._async.cancellation import time_limit
from ...core.concurrency._async.primitives import LocalSemaphore
from ...core.concurrency.child_process import ChildEnded, ChildProcess
from ...core.names import Namespace
from ...errors.one_line_logger import logger_of
from ...errors.process_exit import how_ended
from ..registry import TaskRegistry
from .cancellable_start import CancellableStart
from .claim import Claim
from .cpu_messages import (
    REPORT,
    Begun,
    Failed,
    Job,
    Logged,
    Ready,
    Report,
    Reported,
    Settled,
    Setup,
)
from .registry_address import RegistryAddress
from .step import Settlement

logger: Final = logger_of("holdfast.worker")

_MODULE: Final = "holdfast.queues.worker.cpu_child"

_END_S: Final = 5.0
"""Seconds that an idle child has to end by itself. Its telemetry sends the last reports then."""

_START_S: Final = 60.0
"""Seconds that a child has to import the registry."""

_STARTS: Final = 5
"""How often the start of a child is tried, if signals end the children while they import."""

_NOTHING_S: Final = 0.0


class _Killed(RuntimeError):
    """A signal ended a child process while it imported the registry."""


class TaskCrashed(Exception):
    """The child process ended while it ran the task. The text says how."""


class CpuPool:
    """Runs each CPU-bound task in a child process. A child runs one task after the other.

    A child is started when it is needed. It is a new interpreter, not a fork, and imports the
    module of the registry. Call all methods in the worker's event loop.

    Args:
        limit: number of children at most; further tasks wait until a child is free.
        registry: registry of the worker.
        namespace: namespace of its queues.
        on_change: called when `waiting` changes.

    Attributes:
        waiting: number of tasks that wait for a child.
    """

    def __init__(
        self,
        limit: int,
        registry: TaskRegistry,
        namespace: Namespace,
        on_change: Callable[[], None],
    ) -> None:
        self.waiting: int = 0
        self._limit = limit
        self._registry = registry
        self._namespace = namespace
        self._on_change = on_change
        self._places = LocalSemaphore(limit)
        self._busy = 0
        self._idle: list[ChildProcess] = []
        self._children: set[ChildProcess] = set()
        self._ending: set[RunningTask[int]] = set()
        self._setup: bytes | None = None
        self._start = CancellableStart()

    @property
    def free(self) -> int:
        """Return how many tasks could begin at once."""
        return max(0, self._limit - self._busy - self.waiting)

    @property
    def pids(self) -> list[int]:
        """Return the process ids of the children."""
        return [child.pid for child in list(self._children)]

    def cancel_start(self) -> None:
        """End a start that is not complete. From any thread or signal handler."""
        self._start.cancel()

    async def start(self, queues: Collection[str]) -> bool:
        """Start a child if one of *queues* has CPU-bound tasks, to find errors early.

        Returns:
            Whether the worker may go on. It may not after `cancel_start`.

        Raises:
            RuntimeError: a child cannot import the registry; the text says why.
            ValueError: the registry is not a global variable of a module.
        """
        if not any(task.cpu and task.queue in queues for task in self._registry):
            return True

        async def start_first() -> None:
            self._idle.append(await self._started())

        return await self._start.run(start_first)

    async def run(
        self,
        claim: Claim,
        queue: str,
        timeout_s: float | None,
        on_begin: Callable[[], None],
        on_event: Callable[[bytes, bytes], Awaitable[None]],
    ) -> tuple[Settlement, str]:
        """Run the task of *claim* in a child.

        If the caller is cancelled, the child is killed. The timeout begins when the child has the
        task; *on_begin* is called then. *on_event* gets the kind and the content of each event.

        Returns:
            The settlement, and the type of the exception that the task raised.

        Raises:
            TaskCrashed: the child ended while it ran the task.
            TimeoutError: the task took longer than *timeout_s*; the child was killed.
            RuntimeError: no child can be started.
        """
        await self._place()
        child: ChildProcess | None = None
        try:
            child = await self._begun(claim, queue)
            on_begin()
            async with nullcontext() if timeout_s is None else time_limit(timeout_s):
                settled = await self._settled(child, claim, on_event)
            self._idle.append(child)
            child = None
            return settled
        finally:
            if child is not None:
                self._end(child)
            self._busy -= 1
            self._places.release()

    async def close(self) -> None:
        """End all children: let idle ones exit, and kill busy ones."""
        for child in list(self._children):
            if child in self._idle:
                child.close()
                self._forget(child, _END_S)
            else:
                self._end(child)
        self._idle.clear()
        await wait_ended(self._ending, 2 * _END_S)

    async def _place(self) -> None:
        self._count(1)
        try:
            await self._places.acquire()
        finally:
            self._count(-1)
        self._busy += 1

    def _count(self, change: int) -> None:
        self.waiting += change
        self._on_change()

    async def _begun(self, claim: Claim, queue: str) -> ChildProcess:
        """Return a child that has begun the job. Skip idle children that have died."""
        header = msgspec.json.encode(Job.of(claim, queue))
        while True:
            child = self._idle.pop() if self._idle else await self._started()
            try:
                await child.send(header, claim.body)
                await self._next_report(child, Begun)
            except ChildEnded as ended:
                logger.warning("an idle child process %s", how_ended(ended.code))
                self._end(child)
            except BaseException:
                self._end(child)
                raise
            else:
                return child

    async def _settled(
        self,
        child: ChildProcess,
        claim: Claim,
        on_event: Callable[[bytes, bytes], Awaitable[None]],
    ) -> tuple[Settlement, str]:
        try:
            settled, text = await self._next_report(child, Reported | Settled)
            while isinstance(settled, Reported):
                await on_event(settled.kind.encode(), text)
                settled, text = await self._next_report(child, Reported | Settled)
        except ChildEnded as ended:
            raise TaskCrashed(f"its child process {how_ended(ended.code)}") from None
        assert isinstance(settled, Settled)
        return settled.settlement(claim, text), settled.error

    async def _started(self) -> ChildProcess:
        """Start a child. Start another one if a signal ends it while it imports the registry.

        The system kills processes when memory is short, and operators kill them by mistake: neither
        says that the tasks cannot run.
        """
        for _ in range(_STARTS - 1):
            try:
                return await self._start_child()
            except _Killed as killed:
                logger.warning("%s; another one is started", killed)
        return await self._start_child()

    async def _start_child(self) -> ChildProcess:
        try:
            child = ChildProcess(_MODULE)
        except OSError as error:
            raise RuntimeError(f"no child process can be started: {error}") from error
        self._children.add(child)
        try:
            await self._prepare(child)
        except BaseException:
            self._end(child)
            raise
        return child

    async def _prepare(self, child: ChildProcess) -> None:
        """Send *child* its setup, and wait until it has imported the registry."""
        if self._setup is None:
            address = RegistryAddress.of(self._registry)
            setup = Setup(address, self._namespace.name, _levels())
            self._setup = msgspec.json.encode(setup)
        try:
            async with time_limit(_START_S):
                await child.send(self._setup)
                report, _ = await self._next_report(child, Ready | Failed)
        except ChildEnded as ended:
            text = f"a child process {how_ended(ended.code)} while it imported the tasks"
            raise (_Killed if ended.code < 0 else RuntimeError)(text) from None
        except TimeoutError:
            text = f"a child process did not import the tasks within {_START_S:g} s"
            raise RuntimeError(text) from None
        if isinstance(report, Failed):
            text = f"a child process cannot import the tasks:\n{report.why}"
            raise RuntimeError(text)  # noqa: TRY004 (no type of an argument is wrong)

    async def _next_report(self, child: ChildProcess, wanted: Any) -> tuple[Report, bytes]:
        """Return the next report of a *wanted* type, and pass on the log records before it."""
        while True:
            header, body = await child.receive()
            report = REPORT.decode(header)
            if isinstance(report, wanted):
                return report, body
            if isinstance(report, Logged):
                _log(report.record)

    def _end(self, child: ChildProcess) -> None:
        child.kill()
        self._forget(child, _NOTHING_S)

    def _forget(self, child: ChildProcess, patience_s: float) -> None:
        """Wait for the end of *child* in the background, so that it does not stay a zombie."""
        if child in self._children:
            self._children.discard(child)
            ending = spawn(child.ended(patience_s), "holdfast child")
            self._ending.add(ending)
            ending.add_done_callback(self._ending.discard)


def _levels() -> dict[str, int]:
    """Return the level of each logger with a level of its own."""
    root = logging.getLogger()
    found = {"": root.level}
    for name, each in list(root.manager.loggerDict.items()):
        if isinstance(each, logging.Logger) and each.level:
            found[name] = each.level
    return found


def _log(record: dict[str, Any]) -> None:
    """Log a record of a child with the loggers of this process."""
    made = logging.makeLogRecord(record)
    target = logging.getLogger(made.name)
    if target.isEnabledFor(made.levelno):
        target.handle(made)
