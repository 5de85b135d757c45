"""Holdfast in several processes: `holdfast worker --processes`, or tasks with `cpu=True`."""

from __future__ import annotations

import os
import sys
from typing import Any

from holdfast import Call, Holdfast, TaskHandle, TaskRegistry

from ..contender import ANSWER_S, QUEUE, RESULT_TTL_S, TASK, Blocking, Brief, take_part
from ..task import touch

_MODULE = "benchmarks.queues.contenders.holdfast_processes"

tasks = TaskRegistry()
in_a_thread = tasks.task(queue=QUEUE, name=TASK, result_ttl=float(RESULT_TTL_S))(touch)

cpu_tasks = TaskRegistry()
in_a_child = cpu_tasks.task(queue=QUEUE, name=TASK, result_ttl=float(RESULT_TTL_S), cpu=True)(touch)


class HoldfastProcesses(Blocking):
    """Option `cpu`: one worker with child processes, instead of a supervisor with processes."""

    def __init__(self, brief: Brief) -> None:
        super().__init__(brief)
        self._hf = Holdfast.from_url(brief.url, namespace=QUEUE)

    def _call(self, number: int) -> Call[Any]:
        return in_a_thread.call(*self.brief.arguments(number))

    def enqueue(self, number: int) -> TaskHandle[Any]:
        return self._hf.enqueue(self._call(number))

    def enqueue_many(self, numbers: Any) -> None:
        self._hf.enqueue_many(map(self._call, numbers))

    def result(self, handle: TaskHandle[Any]) -> Any:
        return handle.result(timeout=ANSWER_S)

    def work(self) -> None:
        places, lease = str(self.brief.places), str(self.brief.lease_s)
        cpu = bool(self.brief.options.get("cpu"))
        target = f"{_MODULE}:{'cpu_tasks' if cpu else 'tasks'}"
        how = ["--cpu-processes", places] if cpu else ["--processes", places, "--concurrency", "2"]
        where = ["--url", self.brief.url, "--namespace", QUEUE, "--lease", lease, "--quiet"]
        os.execv(sys.executable, [sys.executable, "-m", "holdfast", "worker", target, *where, *how])


if __name__ == "__main__":
    take_part(HoldfastProcesses)
