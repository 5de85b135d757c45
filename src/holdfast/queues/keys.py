"""Every key of a queue: its type, content and lifetime. All end with the tasks they describe.

*h m l* stand for the priorities high, medium and low.
"""

from __future__ import annotations

from ..core.names import Unit

KIND = "queue"
PRIORITIES = ("high", "medium", "low")


def bodies(unit: Unit) -> str:
    """HASH id → envelope, for every task that is neither done nor cancelled, the dead included."""
    return unit.key("bodies")


def state(unit: Unit) -> str:
    """HASH id → `token:attempts:crashes:priority:note`, from the first claim on.

    The token is new with every claim and only grows; it fences completions. The note names the
    worker that holds the task, or says why the task is dead.
    """
    return unit.key("state")


def leases(unit: Unit) -> str:
    """ZSET of the running tasks, scored by when their lease ends (ms)."""
    return unit.key("leases")


def ready(unit: Unit) -> tuple[str, str, str]:
    """LIST of ids, the next one first: one per priority."""
    return unit.key("ready:h"), unit.key("ready:m"), unit.key("ready:l")


def due(unit: Unit) -> tuple[str, str, str]:
    """ZSET of delayed, retried and reclaimed tasks, scored by when they may run (ms)."""
    return unit.key("due:h"), unit.key("due:m"), unit.key("due:l")


def idle(unit: Unit) -> str:
    """ZSET of the bell channels of waiting workers, scored by when they are given up (ms)."""
    return unit.key("idle")


def dead(unit: Unit) -> str:
    """ZSET of the dead tasks, scored by when they died (ms)."""
    return unit.key("dead")
