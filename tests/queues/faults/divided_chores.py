"""Tasks of `chores` for a queue with partitions, some of them with a key that chooses one."""

import time

from holdfast import PerKey, TaskRegistry, Unique
from queues.faults import chores

QUEUE = "divided"

tasks = TaskRegistry()

plain = tasks.task(queue=QUEUE)(chores.plain.function)
on_the_loop = tasks.task(queue=QUEUE)(chores.on_the_loop.function)
acks_at_once = tasks.task(queue=QUEUE, ack="now")(chores.acks_at_once.function)
in_steps = tasks.task(queue=QUEUE)(chores.in_steps.function)


@tasks.task(queue=QUEUE, unique=Unique(key="key"))
def unique(key: str, seconds: float = 0.0) -> int:
    """Run in a thread; the key chooses the partition."""
    with chores.execution(key) as token:
        time.sleep(seconds)
    return token


@tasks.task(queue=QUEUE, limit=PerKey("tenant", concurrency=1))
def one_of_a_tenant(key: str, tenant: int, seconds: float = 0.0) -> int:
    """Run in a thread, one at a time for each tenant, which chooses the partition."""
    with chores.execution(key) as token:
        time.sleep(seconds)
    return token
