# Generated from _async/handle.py by tools/unasync.py: edit that, then run `make sync`.
"""The handle of one task: its status, its result, and how to cancel it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import TYPE_CHECKING, Any, Final, Generic, Never, TypeVar

import msgspec

from ...core._sync.caller import Caller
from ...core.checks import checked_int
from ...core.clock import Deadline, Duration, to_timeout_s
from ...core.concurrency._sync.primitives import Event
from ...core.familiar_names import no_attribute
from ...core.gap import Gap
from ...core.names import Unit
from ...core.notifier import RECHECK_S, Notifier
from ...core.script import Script
from ...errors import ResultTimeout, SignalRefused
from .. import keys
from ..enqueue_batch import Enqueued
from ..events.task_event import TaskEvent
from ..partitions._sync.locating import STATUS
from ..steps._sync.reading import read_steps
from ..steps.step_record import HEADER_BYTES, checked_name, stored_signal
from ..steps.stored_steps import TaskSteps
from ..task_status import WAITING_STATES, TaskStatus, result_of, task_status
from .task_events import read_events

AWAIT: Final = Script.load("holdfast.queues", "await")
CANCEL: Final = Script.load("holdfast.queues", "cancel")
SIGNAL: Final = Script.load("holdfast.queues", "signal")

CANCELLED_KEPT_MS: Final = 600_000
"""How long the status of a cancelled task is kept."""

FAMILIAR_NAMES: Final = {
    "get": "result(timeout=…) waits for the result",
    "wait": "result(timeout=…) waits for the result",
    "ready": "status().state is the state",
    "successful": "status().state is `done`",
    "state": "status().state is the state",
    "id": "task_id is its id",
    "revoke": "cancel() cancels the task",
    "forget": "result_ttl of the task limits how long a result is kept",
}
"""Attributes of results in Celery, RQ and Dramatiq, and what to use instead."""

R = TypeVar("R")


class TaskHandle(msgspec.Struct, Generic[R], frozen=True, eq=False):
    """A task that was enqueued.

    Made by `Holdfast.enqueue`, and by `Queue.handle` for a task of another producer.

    Attributes:
        task_id: id of the task.
        queue: name of its queue.
        enqueued: what `enqueue` did: `new`, it stored the task; `existing`, it changed nothing,
            because the task was there already; `replaced` or `postponed`, it changed a task with
            the same key (see `Unique`). None for a handle from `queue.handle`.
    """

    task_id: str
    queue: str
    _unit: Unit
    _caller: Caller
    _notifier: Notifier
    _returns: Any = Any
    enqueued: Enqueued | None = None
    _find_unit: Callable[[], Any] | None = None

    def __eq__(self, other: object) -> bool:
        """Return whether both are handles of the same task."""
        return type(other) is type(self) and (self.task_id, self.queue) == (
            other.task_id,
            other.queue,
        )

    def __hash__(self) -> int:
        return hash((self.task_id, self.queue))

    def __repr__(self) -> str:
        names = ("task_id", "queue", "enqueued")
        shown = ", ".join(f"{name}={getattr(self, name)!r}" for name in names)
        return f"{type(self).__name__}({shown})"

    if not TYPE_CHECKING:  # a type checker shall know that there are no such methods

        def __getattr__(self, name: str) -> Never:
            raise no_attribute(self, name, FAMILIAR_NAMES)

    def status(self) -> TaskStatus:
        """Return the status of the task now."""
        return task_status(self.task_id, self._find(self._where()))

    def result(self, timeout: Duration | None = None) -> R:
        """Wait until the task has ended, and return its result, converted to the annotated type.

        A result is kept for the `result_ttl` of the task, and can be read any number of times.

        Args:
            timeout: seconds to wait at most (or a timedelta); None: without limit, 0: not at all.

        Raises:
            TaskFailed: the task is dead, cancelled or unknown, or its result could not be stored.
            ResultTimeout: the task has not ended yet; it continues.
            ServerUnavailable: the server could not be reached; try again.
            DecodeError: the result is not of the annotated type.
        """
        deadline = Deadline(to_timeout_s(timeout))
        unit = self._where()
        reply = self._find(unit)
        if reply[0].decode() in WAITING_STATES and not deadline.passed:
            reply = self._wait_for_end(unit, deadline)
        state = reply[0].decode()
        if state in WAITING_STATES:
            raise ResultTimeout(self.task_id, self.queue, state)
        result: R = result_of(self.task_id, self.queue, reply, self._returns)
        return result

    def events(
        self, *, after: int = 0, timeout: Duration | None = None
    ) -> Iterator[TaskEvent | Gap]:
        """Iterate over the events that the task reports, and wait for more until it has ended.

        The iteration ends when the task is done, dead, cancelled or unknown, after its last event;
        `status` shows how the task ended. It waits for notifications, so thousands of readers cost
        little. A slow reader gets a `Gap` for events that the server does not keep any more.

        To continue after a break, give the `number` of the last event. A dead task that is replayed
        continues the numbers.

        Args:
            after: the number of the event after which to begin; 0: at the first one.
            timeout: seconds to wait at most, in all (or a timedelta); then the iteration ends, too.
                None: without limit, 0: not at all.

        Raises:
            ServerUnavailable: the server could not be reached; continue after the last event.
            DecodeError: another program changed the events.
        """
        after = checked_int(after, "after", 0)
        wait = Deadline(to_timeout_s(timeout))
        where = self._caller, self._notifier, self._where, self.task_id
        return read_events(*where, after, wait)

    def cancel(self, *, op_id: str | None = None) -> bool:
        """Cancel the task.

        A running async function is cancelled. A plain function is interrupted as soon as it is back
        in Python code. The result of a cancelled task is not stored.

        Returns:
            Whether this call cancelled it; False if it had ended before.
        """
        unit = self._where()
        cancelled: int = self._caller.write(
            CANCEL,
            unit,
            self.task_id,
            CANCELLED_KEPT_MS,
            op_id=op_id,
            repeat=self.cancel,
            given=[keys.result(unit, self.task_id), keys.events(unit, self.task_id)],
        )
        return cancelled == 1

    def signal(self, name: str, value: Any = None, *, op_id: str | None = None) -> None:
        """Send a signal to the task, which takes it with `current_task().wait_for(name)`.

        The server keeps the signal until the task takes it, or ends. It keeps up to 100 signals of
        a task.

        Args:
            name: name of the signal.
            value: what `wait_for` returns: a JSON value of at most 64 KiB.
            op_id: see `OutcomeUnknown`.

        Raises:
            SignalRefused: the task has ended, is unknown, or has too many signals.
            PayloadTooLarge, TypeError: the value cannot be stored.
        """
        name, data = checked_name(name, "the name of a signal"), stored_signal(name, value)
        unit = self._where()
        state: bytes = self._caller.write(
            SIGNAL,
            unit,
            self.task_id,
            name,
            data,
            op_id=op_id,
            repeat=partial(self.signal, name, value),
            given=[keys.result(unit, self.task_id)],
        )
        if state != b"sent":
            raise SignalRefused(name, self.task_id, self.queue, state.decode())

    def steps(self, *, result_bytes: int | None = None) -> TaskSteps:
        """Return the steps of the task: those that have ended, and what it waits for.

        They are kept as long as the task has not ended, and while it is dead.

        Args:
            result_bytes: longer results are cut after so many bytes; None: not at all.
        """
        most = 0 if result_bytes is None else HEADER_BYTES + result_bytes
        unit = self._where()
        read = partial(self._read, unit)
        found = read_steps(read, unit, self.task_id, most_bytes=most)
        return TaskSteps.of(found, result_bytes) if found is not None else TaskSteps()

    def _where(self) -> Unit:
        """Return the partition of the task. A handle made by `queue.handle` asks the server."""
        if self._find_unit is None:
            return self._unit
        unit: Unit = self._find_unit()
        return unit

    def _read(self, unit: Unit, script: Script, names: Any, args: list[Any]) -> Any:
        return self._caller.call(script, unit, names, args)

    def _find(self, unit: Unit) -> Any:
        names = STATUS.keys(unit, keys.result(unit, self.task_id))
        return self._caller.call(STATUS, unit, names, [self.task_id])

    def _wait_for_end(self, unit: Unit, deadline: Deadline) -> Any:
        """Return the reply of `await.lua` once the task has ended, or once no time is left."""
        woken = Event()
        names = AWAIT.keys(unit, keys.result(unit, self.task_id))
        with self._notifier.listen(unit, woken) as channel:
            while True:
                woken.clear()
                args = [self.task_id, channel]
                reply = self._caller.call(AWAIT, unit, names, args, harmless=True, durable=False)
                if deadline.passed or reply[0].decode() not in WAITING_STATES:
                    return reply
                woken.wait(min(RECHECK_S, deadline.left_s()))
