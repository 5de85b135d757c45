"""Errors of tasks."""

from __future__ import annotations

from typing import Final

from .base import HoldfastError, shortened


class UnknownTask(HoldfastError, LookupError):
    """A task of this name is not registered in this process.

    Attributes:
        task: the name.
    """

    def __init__(self, task: str) -> None:
        super().__init__(
            f"no task named {shortened(task)} is registered here; "
            "import the module that defines it, or deploy it to this worker"
        )
        self.task = task


class NoSuchSchedule(HoldfastError, LookupError):
    """A schedule that does not exist: it was never made, was removed, or has ended.

    Attributes:
        name: name of the schedule.
    """

    def __init__(self, name: str) -> None:
        super().__init__(
            f"there is no schedule {shortened(name)}: it was removed, has ended, or is stored in "
            "another namespace"
        )
        self.name = name


class ScheduleExists(HoldfastError, ValueError):
    """A schedule of this name exists, and this call cannot change it. Nothing was stored.

    Attributes:
        name: name of the schedule.
    """

    def __init__(self, name: str, reason: str) -> None:
        super().__init__(f"schedule {shortened(name)} exists: {reason}")
        self.name = name


class NoSuchGroup(HoldfastError, LookupError):
    """A group that does not exist: it was never stored, or it has expired.

    Attributes:
        group_id: id of the group.
    """

    def __init__(self, group_id: str) -> None:
        super().__init__(
            f"there is no group {shortened(group_id)}: it has expired, or is stored in another "
            "namespace"
        )
        self.group_id = group_id


class GroupExists(HoldfastError, ValueError):
    """A group with this id exists, and has other tasks. Nothing was stored.

    Attributes:
        group_id: id of the group.
    """

    def __init__(self, group_id: str) -> None:
        super().__init__(
            f"group {shortened(group_id)} exists with other tasks or options; choose another "
            "group_id, such as one with the date"
        )
        self.group_id = group_id


class GroupTimeout(HoldfastError, TimeoutError):
    """A group did not end while its caller waited. The group continues.

    Attributes:
        group_id: id of the group.
        waiting: how many members have not ended.
    """

    def __init__(self, group_id: str, waiting: int) -> None:
        super().__init__(f"group {shortened(group_id)} has not ended: {waiting:,} members remain")
        self.group_id = group_id
        self.waiting = waiting


class WorkerCannotStart(HoldfastError):
    """A server rejects a worker that starts, or TLS rejects the server. No task was run.

    This is not a `ServerUnavailable`: running the worker again fails until its settings, or those
    of the server, are changed.

    Attributes:
        server: host and port of the server.
        rejection: what is rejected: `credentials`, `permission`, `tls`, or `settings` such as the
            number of the database.
        reason: what the server, or TLS, answered.
        remedy: what to do.
    """

    def __init__(self, server: str, rejection: str, reason: str, remedy: str) -> None:
        super().__init__(
            f"the worker cannot start: {_rejected(server, rejection, reason)}; {remedy}"
        )
        self.server = server
        self.rejection = rejection
        self.reason = reason
        self.remedy = remedy


class LifespanFailed(HoldfastError):
    """The lifespan of a worker raised an exception, which is the cause of this one.

    Attributes:
        worker: the name of the worker.
        moment: `start`: no task was claimed; or `end`: all tasks are settled or given back.
        reason: the type and the message of the exception.
    """

    def __init__(self, worker: str, moment: str, reason: str) -> None:
        effect = "no task was claimed" if moment == "start" else "its tasks had ended before"
        super().__init__(
            f"the lifespan of worker {worker} failed at its {moment}, {reason}; {effect}"
        )
        self.worker = worker
        self.moment = moment
        self.reason = reason


class QueueAtCapacity(HoldfastError):
    """A queue has as many waiting tasks as allowed. No task of this call was put into it.

    Attributes:
        queue: name of the queue.
        capacity: how many tasks may wait in the queue.
        stored: how many tasks of the same `enqueue_many` are stored in other queues.
    """

    def __init__(self, queue: str, capacity: int, stored: int = 0) -> None:
        elsewhere = f" ({stored:,} of this call are stored in other queues)" if stored else ""
        super().__init__(
            f"queue {queue!r} is full: {capacity:,} tasks may wait; nothing was put into it"
            f"{elsewhere}; enqueue later, start more workers, or redefine(capacity=…)"
        )
        self.queue = queue
        self.capacity = capacity
        self.stored = stored


class TaskExists(HoldfastError, ValueError):
    """Another task holds the key of a unique task, and its `Unique` has `when="raise"`.

    No task of this call was put into the queue.

    Attributes:
        task_id: id of the task that holds the key.
        queue: name of the queue.
        stored: how many tasks of the same `enqueue_many` are stored already: in other queues, or
            in earlier steps of at most 50 tasks.
    """

    def __init__(self, task_id: str, queue: str, stored: int = 0) -> None:
        elsewhere = f" ({stored:,} tasks of this call are stored already)" if stored else ""
        super().__init__(
            f"task {task_id!r} of queue {queue!r} holds the key of this call; nothing was put "
            f"into the queue{elsewhere}; wait for that task, or give another `when` to Unique"
        )
        self.task_id = task_id
        self.queue = queue
        self.stored = stored


class TaskFailed(HoldfastError):
    """A task has no result, and will have none.

    Attributes:
        task_id: id of the task.
        queue: name of its queue.
        state: `dead`, `cancelled`, `unknown` (it was never enqueued, or its result has expired), or
            `done` (its return value could not be stored).
        reason: why there is no result.
    """

    def __init__(self, task_id: str, queue: str, state: str, reason: str) -> None:
        super().__init__(f"task {task_id!r} of queue {queue!r} is {state}: {reason}")
        self.task_id = task_id
        self.queue = queue
        self.state = state
        self.reason = reason


class ResultTimeout(HoldfastError, TimeoutError):
    """A task did not end while its caller waited for the result. The task continues.

    Attributes:
        task_id: id of the task.
        queue: name of its queue.
        state: its state at the end of the wait: `queued`, `delayed` or `running`.
    """

    def __init__(self, task_id: str, queue: str, state: str) -> None:
        super().__init__(f"no result yet: task {task_id!r} of queue {queue!r} is {state}")
        self.task_id = task_id
        self.queue = queue
        self.state = state


def _rejected(server: str, rejection: str, reason: str) -> str:
    match rejection:
        case "credentials":
            return f"{server} rejects the user name or the password ({reason})"
        case "permission":
            return f"{server} denies this user what a worker needs ({reason})"
        case "tls":
            return f"TLS with {server} fails: {reason}"
    return f"{server} refuses the connection ({reason})"


class SignalRefused(HoldfastError):
    """A signal was not stored, because its task has ended, or has too many signals.

    Attributes:
        signal: name of the signal.
        task_id: id of the task.
        queue: name of its queue.
        state: `done`, `dead`, `cancelled` or `unknown`; or `full`, if the task has as many signals
            that no `wait_for` has taken as allowed.
    """

    def __init__(self, signal: str, task_id: str, queue: str, state: str) -> None:
        why = _UNSIGNALED.get(state, f"is {state}")
        super().__init__(
            f"signal {signal!r} was not stored: task {task_id!r} of queue {queue!r} {why}"
        )
        self.signal = signal
        self.task_id = task_id
        self.queue = queue
        self.state = state


_UNSIGNALED: Final = {
    "dead": "is dead; replay it, and send the signal again",
    "unknown": "was never enqueued, or ended some time ago",
    "full": "has 100 signals that it has not taken; it takes them with wait_for",
}


class SignalTimeout(HoldfastError, TimeoutError):
    """No signal arrived within the timeout of `wait_for`. Each replay of the task raises it again.

    Attributes:
        signal: name of the signal.
        task_id: id of the task.
    """

    def __init__(self, signal: str, task_id: str) -> None:
        super().__init__(f"no signal {signal!r} arrived in time for task {task_id!r}")
        self.signal = signal
        self.task_id = task_id


class StepFailed(HoldfastError):
    """A step has failed in an earlier run of the task, with an exception that cannot be restored.

    Attributes:
        step: name of the step.
        error: name of the class of the exception.
        reason: message of the exception.
    """

    def __init__(self, step: str, error: str, reason: str) -> None:
        super().__init__(f"step {step!r} failed in an earlier run: {error}: {reason}")
        self.step = step
        self.error = error
        self.reason = reason
