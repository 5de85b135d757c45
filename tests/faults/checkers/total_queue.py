"""No enqueued task is lost, and only enqueued tasks run: `total_queue`.

After Jepsen's checker of the same name. Tasks are known by the `key` of their operations. A task's
body records its completion, so that a completion is on record before it reaches the queue.
"""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from faults.history import Operation

SHOWN = 10  # keys named in an explanation


@dataclass(frozen=True)
class QueueCounts:
    """What is allowed, and worth knowing.

    Args:
        acknowledged: Tasks with an enqueue that returned.
        completed: Tasks that ran to their end.
        duplicated: Tasks that did so more than once.
        recovered: Tasks that did so although their enqueue never returned.
    """

    acknowledged: int
    completed: int
    duplicated: int
    recovered: int


def total_queue(
    operations: Iterable[Operation],
    *,
    enqueue: str = "enqueue",
    complete: str = "complete",
    dead: Iterable[str] = (),
    pending: Iterable[str] = (),
) -> QueueCounts:
    """Check that what was acknowledged is completed, dead or pending, and no more was completed
    than was attempted.

    Args:
        operations: The history; kinds other than these two are passed over.
        enqueue: The kind of operation that enqueues the task `key`.
        complete: The kind of operation that the body of the task `key` records.
        dead: Tasks that the queue keeps among its dead.
        pending: Tasks that the queue still holds, queued or running.

    Raises:
        AssertionError: Tasks were lost or came from nowhere; it names them.
    """
    history = list(operations)
    enqueues = [operation for operation in history if operation.kind == enqueue]
    acknowledged = {operation.key for operation in enqueues if operation.outcome == "ok"}
    completions = [operation for operation in history if operation.kind == complete]
    times = Counter(operation.key for operation in completions if operation.outcome == "ok")

    lost, unexpected = missing(
        history, enqueue=enqueue, complete=complete, dead=dead, pending=pending
    )
    complaints = [
        *_complaint("acknowledged, but neither completed nor dead nor pending", lost),
        *_complaint("ran, but was never enqueued", unexpected),
    ]
    if complaints:
        raise AssertionError("\n".join(complaints))
    return QueueCounts(
        acknowledged=len(acknowledged),
        completed=len(times),
        duplicated=sum(count > 1 for count in times.values()),
        recovered=len(times.keys() - acknowledged),
    )


def missing(
    operations: Iterable[Operation],
    *,
    enqueue: str = "enqueue",
    complete: str = "complete",
    dead: Iterable[str] = (),
    pending: Iterable[str] = (),
) -> tuple[set[str], set[str]]:
    """Return the tasks that were lost, and those that ran without being enqueued."""
    history = list(operations)
    enqueues = [operation for operation in history if operation.kind == enqueue]
    runs = [operation for operation in history if operation.kind == complete]
    attempted = {operation.key for operation in enqueues if operation.outcome != "fail"}
    acknowledged = {operation.key for operation in enqueues if operation.outcome == "ok"}
    completed = {operation.key for operation in runs if operation.outcome == "ok"}
    lost = acknowledged - completed - set(dead) - set(pending)
    return lost, {operation.key for operation in runs} - attempted


def _complaint(what: str, keys: set[str]) -> list[str]:
    if not keys:
        return []
    more = f" and {len(keys) - SHOWN} more" if len(keys) > SHOWN else ""
    return [f"{len(keys)} {what}: {', '.join(sorted(keys)[:SHOWN])}{more}"]
