"""Every key of a queue: its type, content and lifetime. All end with the tasks they describe.

*h m l* stand for the priorities high, medium and low.
"""

from __future__ import annotations

from ..core.names import Unit

KIND = "queue"
WORKERS = "workers"
PRIORITIES = ("high", "medium", "low")


def bodies(unit: Unit) -> str:
    """HASH id → envelope, for every task that is neither done nor cancelled, the dead included."""
    return unit.key("bodies")


def state(unit: Unit) -> str:
    """HASH id → `token:attempts:crashes:priority:expires:parked:note`, from the first claim on.

    The token is new with every claim and only grows; it fences completions. `expires` is set while
    the task runs, and `parked` says since when no worker knew it; both in ms, 0 for never. The note
    is the bell channel and the name of the worker that holds the task, and since when the task was
    due if it was claimed from among those; else what went wrong last.
    """
    return unit.key("state")


def leases(unit: Unit) -> str:
    """ZSET of the running tasks, scored by when their lease ends (ms)."""
    return unit.key("leases")


def ready(unit: Unit) -> tuple[str, str, str]:
    """LIST of ids, the next one first: one per priority."""
    return unit.key("ready:h"), unit.key("ready:m"), unit.key("ready:l")


def due(unit: Unit) -> tuple[str, str, str]:
    """ZSET of delayed, retried and reclaimed tasks, scored by when they may run (ms).

    Given back, they have the score that they had before.
    """
    return unit.key("due:h"), unit.key("due:m"), unit.key("due:l")


def idle(unit: Unit) -> str:
    """ZSET of the bell channels of waiting workers, scored by when they are given up (ms)."""
    return unit.key("idle")


def dead(unit: Unit) -> str:
    """ZSET of the dead tasks, scored by when they died (ms)."""
    return unit.key("dead")


def expiring(unit: Unit) -> str:
    """ZSET of waiting tasks that must not be begun any more, scored by from when on (ms)."""
    return unit.key("expiring")


def left_over(unit: Unit) -> str:
    """SET of ids whose cancelled task still stands in a ready line, until its turn comes.

    As long as it does, a later task of the id never waits in a ready line, but among the due ones.
    """
    return unit.key("left_over")


def awaited(unit: Unit) -> str:
    """HASH id → bell channels of those who wait for its end; a minute after the last of them."""
    return unit.key("awaited")


def settings(unit: Unit) -> str:
    """HASH of `paused` while nothing may be claimed, `capacity` once it is said, 0 for no limit.

    It stays.
    """
    return unit.key("settings")


def pace(unit: Unit) -> str:
    """HASH minute modulo 120 → `minute:done:retried:dead`: how many tasks ended; for two hours."""
    return unit.key("pace")


def result(unit: Unit, task_id: str) -> str:
    """STRING `state:attempts:ended_ms:payload` of a task that is done or cancelled, for a while.

    The payload of a done task is `=` and its result as JSON, or `!` and why that was not stored.
    """
    return unit.key("result:") + task_id


def crew(workers: Unit) -> str:
    """HASH worker → JSON of what it serves, as `WorkerStatus` has it; for five minutes."""
    return workers.key("crew")


def seen(workers: Unit) -> str:
    """ZSET of the workers of the namespace, scored by their last sign of life (ms); likewise."""
    return workers.key("seen")
