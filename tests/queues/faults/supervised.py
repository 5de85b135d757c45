"""Tasks of `chores` for `holdfast worker`, and one for child processes of its processes.

Each process that imports this writes a history of its own, `$CHORES_HISTORY-PID.jsonl`.
"""

import os
import time

from faults.history import Recorder
from holdfast import TaskRegistry
from queues.faults import chores
from queues.faults.chores import QUEUE

HISTORY = "CHORES_HISTORY"

tasks = TaskRegistry()

if HISTORY in os.environ:
    chores.recorders.append(Recorder(f"{os.environ[HISTORY]}-{os.getpid()}.jsonl"))

plain = tasks.task(queue=QUEUE)(chores.plain.function)
on_the_loop = tasks.task(queue=QUEUE)(chores.on_the_loop.function)
in_steps = tasks.task(queue=QUEUE)(chores.in_steps.function)
in_steps_by_a_thread = tasks.task(queue=QUEUE)(chores.in_steps_by_a_thread.function)
acks_at_once = tasks.task(queue=QUEUE, ack="now", name=chores.acks_at_once.name)(
    chores.acks_at_once.function
)


@tasks.task(queue=QUEUE, cpu=True)
def computed(key: str, seconds: float = 0.0) -> int:
    """Run in a child process."""
    with chores.execution(key) as token:
        time.sleep(seconds)
    return token
