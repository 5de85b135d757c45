"""Every key of a queue: its type, content and lifetime. They end with the tasks they describe.

*h m l* stand for the priorities high, medium and low.
"""

from __future__ import annotations

from ..core.names import Unit

KIND = "queue"
WORKERS = "workers"
PRIORITIES = ("high", "medium", "low")


def bodies(unit: Unit) -> str:
    """HASH id → envelope, for every task that is not done or cancelled; dead tasks included."""
    return unit.key("bodies")


def state(unit: Unit) -> str:
    """HASH id → `token:attempts:crashes:priority:expires:parked:note`, from the first claim on.

    The token grows with every claim, and fences settlements. `expires` is set while the task runs.
    `parked` is since when no worker knew the task. Both are in ms, 0 for never.

    The note of a running task is the channel and the name of its worker, and since when the task
    was due if it was in a due set. Otherwise the note is the last error.
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

    A released task gets the score that it had before.
    """
    return unit.key("due:h"), unit.key("due:m"), unit.key("due:l")


def idle(unit: Unit) -> str:
    """ZSET of the channels of idle workers, scored by when they are forgotten (ms)."""
    return unit.key("idle")


def dead(unit: Unit) -> str:
    """ZSET of the dead tasks, scored by when they died (ms)."""
    return unit.key("dead")


def expiring(unit: Unit) -> str:
    """ZSET of queued tasks that expire, scored by from when on they must not start (ms)."""
    return unit.key("expiring")


def tombstones(unit: Unit) -> str:
    """SET of ids of cancelled tasks that are still in a ready list, until their turn comes.

    Until then, a later task of the same id waits in a due set, not in a ready list.
    """
    return unit.key("tombstones")


def awaited(unit: Unit) -> str:
    """HASH id → channels to notify when the task ends; kept a minute after the last waiter."""
    return unit.key("awaited")


def settings(unit: Unit) -> str:
    """HASH of `paused`, if it is paused, and `capacity`, if given (0: no limit). It stays."""
    return unit.key("settings")


def throughput(unit: Unit) -> str:
    """HASH minute modulo 120 → `minute:done:retried:dead`: how many tasks ended; kept two hours."""
    return unit.key("throughput")


def result(unit: Unit, task_id: str) -> str:
    """STRING `state:attempts:ended_ms:payload` of a done or cancelled task; for its `result_ttl`.

    The payload of a done task is `=` and its result as JSON, or `!` and why that was not stored.
    """
    return unit.key("result:") + task_id


def workers(unit: Unit) -> str:
    """HASH worker → JSON of what it serves, as in `WorkerStatus`; kept five minutes."""
    return unit.key("workers")


def seen(unit: Unit) -> str:
    """ZSET of workers, scored by their last heartbeat (ms); kept five minutes."""
    return unit.key("seen")
