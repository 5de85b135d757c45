"""What can go wrong with tasks."""

from __future__ import annotations

from .base import HoldfastError, shortened


class UnknownTask(HoldfastError, LookupError):
    """A task name that the registry does not have."""

    def __init__(self, task: str) -> None:
        super().__init__(
            f"no task named {shortened(task)} is registered here; "
            "import the module that defines it, or deploy it to this worker"
        )
        self.task = task


class QueueAtCapacity(HoldfastError):
    """As many tasks wait in a queue as may; those of this call were not put into it.

    Attributes:
        queue: the name of the queue.
        capacity: how many tasks may wait there.
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


class TaskFailed(HoldfastError):
    """A task has no result, and will have none.

    Attributes:
        task_id: its id.
        queue: the name of its queue.
        state: `dead`, `cancelled`, `unknown` (never enqueued, or its result was kept long enough),
            or `done` when what it returned could not be stored.
        reason: why.
    """

    def __init__(self, task_id: str, queue: str, state: str, reason: str) -> None:
        super().__init__(f"task {task_id!r} of queue {queue!r} is {state}: {reason}")
        self.task_id = task_id
        self.queue = queue
        self.state = state
        self.reason = reason


class ResultTimeout(HoldfastError, TimeoutError):
    """A task had not ended within the time that its result was waited for. It goes on.

    Attributes:
        task_id: its id.
        queue: the name of its queue.
        state: where it was at last: `queued`, `delayed` or `running`.
    """

    def __init__(self, task_id: str, queue: str, state: str) -> None:
        super().__init__(f"no result yet: task {task_id!r} of queue {queue!r} is {state}")
        self.task_id = task_id
        self.queue = queue
        self.state = state
