"""Tasks with steps, and workers that die at chosen lines of them.

`python -m queues.faults.stepping_worker URL NAMESPACE FIRST EVERY` forks one worker after another.
Worker number *n* serves the queue `n`, and kills itself at line FIRST + EVERY * n: of its task, of
`queues/steps`, or of the runner. The program prints how many workers died.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import threading
from pathlib import Path
from types import FrameType
from typing import Any, Final

import redis

import holdfast
from holdfast import AsyncHoldfast, Retry, TaskRegistry, current_task
from holdfast.queues.worker import runner

LEASE_S: Final = 1.0

FILES: Final = (
    __file__,
    str(Path(holdfast.__file__).parent / "queues" / "steps"),
    runner.__file__,
)

EFFECTS: Final = ("reserve", "charge", "ship")


def registry(queue: str, effects: Any) -> TaskRegistry:
    """Return the tasks of a queue, with steps that append their names to *effects*."""
    tasks = TaskRegistry()

    async def effect(name: str) -> str:
        effects.append(current_task().task_id, name)
        return name

    def plain_effect(name: str) -> str:
        effects.append(current_task().task_id, name)
        return name

    @tasks.task(queue=queue, retry=Retry(attempts=1))
    async def order() -> list[Any]:
        task = current_task()
        first = await task.step("reserve", effect, "reserve")
        await task.sleep(0.001)
        second = await task.step("charge", effect, "charge")
        found = await task.wait_for("go")
        third = await task.step("ship", effect, "ship")
        return [first, second, found, third]

    @tasks.task(queue=queue, retry=Retry(attempts=1))
    def plain_order() -> list[Any]:
        task = current_task()
        first = task.step("reserve", plain_effect, "reserve")
        task.sleep(0.001)
        second = task.step("charge", plain_effect, "charge")
        found = task.wait_for("go")
        third = task.step("ship", plain_effect, "ship")
        return [first, second, found, third]

    return tasks


class Effects:
    """Keeps what the steps did on the server, where no kill reaches it."""

    def __init__(self, url: str, prefix: str) -> None:
        self._client = redis.Redis.from_url(url)
        self._prefix = prefix

    def append(self, task_id: str, name: str) -> None:
        self._client.rpush(f"{self._prefix}{task_id}", name)

    def of(self, task_id: str) -> list[str]:
        found: Any = self._client.lrange(f"{self._prefix}{task_id}", 0, -1)
        return [name.decode() for name in found]


def die_at(line: int) -> None:
    """Kill this process at so many lines from now on."""
    left = line

    def trace(frame: FrameType, event: str, _: object) -> Any:
        nonlocal left
        if event == "call":
            return trace if frame.f_code.co_filename.startswith(FILES) else None
        if event == "line":
            left -= 1
            if left == 0:
                os.kill(os.getpid(), signal.SIGKILL)
        return trace

    threading.settrace(trace)
    sys.settrace(trace)


async def serve(url: str, namespace: str, queue: str) -> None:
    """Run the worker of one queue until it is idle."""
    async with AsyncHoldfast.from_url(url, namespace=namespace) as hf:
        tasks = registry(queue, Effects(url, f"{namespace}:"))
        await hf.worker(tasks, lease=LEASE_S, concurrency=1).run(until_idle=True)


def main(url: str, namespace: str, first: int, every: int) -> None:
    """Fork workers until one does not die; or until there are 1,000."""
    died = 0
    for n in range(1000):
        pid = os.fork()
        if pid == 0:
            die_at(first + every * n)
            asyncio.run(serve(url, namespace, str(n)))
            os._exit(0)
        _, status = os.waitpid(pid, 0)
        if not os.WIFSIGNALED(status):
            break
        died += 1
    print(died)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4]))
