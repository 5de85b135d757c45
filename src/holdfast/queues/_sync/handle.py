# Generated from _async/handle.py by tools/unasync.py: edit that, then run `make sync`.
"""What one task is to whoever enqueued it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Final, Generic, TypeVar

from ...core._sync.caller import Caller
from ...core.clock import Deadline, Duration, to_timeout_s
from ...core.concurrency._sync.primitives import Event
from ...core.names import Unit
from ...core.notifier import RECHECK_S, Notifier
from ...core.script import Script
from ...errors import ResultTimeout
from .. import keys
from ..task_status import WAITING_STATES, TaskStatus, result_of, task_status

STATUS: Final = Script.load("holdfast.queues", "status")
AWAIT: Final = Script.load("holdfast.queues", "await")
CANCEL: Final = Script.load("holdfast.queues", "cancel")

CANCELLED_KEPT_MS: Final = 600_000
"""How long it is remembered that a task was cancelled."""

R = TypeVar("R")


@dataclass(frozen=True, slots=True)
class TaskHandle(Generic[R]):
    """A task that was enqueued.

    Made by `Holdfast.enqueue`, and by `Queue.handle` for a task that someone else
    enqueued.

    Attributes:
        task_id: its id.
        queue: the name of the queue it was put into.
    """

    task_id: str
    queue: str
    _unit: Unit = field(repr=False, compare=False)
    _caller: Caller = field(repr=False, compare=False)
    _notifier: Notifier = field(repr=False, compare=False)
    _returns: Any = field(default=Any, repr=False, compare=False)

    def status(self) -> TaskStatus:
        """Where it is now."""
        return task_status(self.task_id, self._standing())

    def result(self, timeout: Duration | None = None) -> R:
        """What it returned, as the type that it is annotated with; waits until it has ended.

        Results are kept for the task's `result_ttl`, and can be asked for any number of times.

        Args:
            timeout: seconds to wait at most (or a timedelta); None for ever, 0 not at all.

        Raises:
            TaskFailed: it is dead or cancelled, nothing is known of it, or its result could not
                be stored.
            ResultTimeout: it has not ended yet; it goes on.
            ServerUnavailable: the server cannot be asked now; ask again.
            DecodeError: its result is not of the annotated type.
        """
        deadline = Deadline(to_timeout_s(timeout))
        reply = self._standing()
        if reply[0].decode() in WAITING_STATES and not deadline.passed:
            reply = self._end(deadline)
        state = reply[0].decode()
        if state in WAITING_STATES:
            raise ResultTimeout(self.task_id, self.queue, state)
        result: R = result_of(self.task_id, self.queue, reply, self._returns)
        return result

    def cancel(self, *, op_id: str | None = None) -> bool:
        """Let it not run, or stop.

        A running async function is cancelled, a plain one is interrupted as soon as it is back in
        Python code. What it does until then is done; its result does not count any more.

        Returns:
            Whether it is cancelled now by this call; False when it had ended before.
        """
        cancelled: int = self._caller.write(
            CANCEL,
            self._unit,
            self.task_id,
            CANCELLED_KEPT_MS,
            op_id=op_id,
            repeat=self.cancel,
            given=[keys.result(self._unit, self.task_id)],
        )
        return cancelled == 1

    def _standing(self) -> Any:
        names = STATUS.keys(self._unit, keys.result(self._unit, self.task_id))
        return self._caller.call(STATUS, self._unit, names, [self.task_id])

    def _end(self, deadline: Deadline) -> Any:
        """Where it is once it has ended, or once no time is left."""
        woken = Event()
        names = AWAIT.keys(self._unit, keys.result(self._unit, self.task_id))
        with self._notifier.listen(self._unit, woken) as channel:
            while True:
                woken.clear()
                args = [self.task_id, channel]
                reply = self._caller.call(
                    AWAIT, self._unit, names, args, harmless=True, durable=False
                )
                if deadline.passed or reply[0].decode() not in WAITING_STATES:
                    return reply
                woken.wait(min(RECHECK_S, deadline.left_s()))
