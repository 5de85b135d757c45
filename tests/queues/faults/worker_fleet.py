"""Worker processes and a producer that share a queue, and what they recorded: `WorkerFleet`."""

import json
import re
import secrets
from collections.abc import Iterable
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Self

import redis
from msgspec.structs import replace

from faults.checkers.audit import audit
from faults.checkers.total_queue import QueueCounts, total_queue
from faults.clusters import Cluster
from faults.history import Operation, Recorder, read
from faults.processes import Process
from faults.servers import Server
from faults.stubborn import insist
from faults.urls import patient
from faults.waiting import eventually
from holdfast import (
    Holdfast,
    QueueAtCapacity,
    TaskHandle,
    TaskStatus,
)
from holdfast.core.names import Namespace
from holdfast.queues import keys
from queues.faults.chores import QUEUE
from queues.faults.queue_snapshot import QueueSnapshot

REASONS = {
    "hopeless": ("crashed: ", "failed: NotYet"),
    "endless": ("crashed: ", "failed: TimeoutError: "),
    "stuck": ("crashed: ", "failed: TimeoutError: "),
    "expires": ("crashed: ", "expired: "),
}
"""Why a task may be dead, by the first word of its key; of others only `crashed: `."""


class WorkerFleet:
    """Workers that start and end with the block, in a namespace of their own.

    Args:
        server: where the queue is; it is also read directly.
        folder: for the histories.
        workers: how many; more may be started and killed by the test.
        lease: seconds.
        concurrency: tasks that each runs at once.
        grace: seconds that a worker gives its running tasks when it has to end.
        url: of the server, as the workers and the producer see it.
        namespace: of a user with the rights that are needed; by default a new one.
    """

    raw: redis.Redis | redis.RedisCluster

    def __init__(
        self,
        server: Server | Cluster,
        folder: Path,
        *,
        workers: int,
        lease: float,
        concurrency: int = 8,
        grace: float = 5.0,
        url: str = "",
        namespace: str = "",
    ) -> None:
        self.namespace = namespace or f"fleet-{secrets.token_hex(4)}"
        self.unit = Namespace.of(self.namespace).unit(keys.KIND, QUEUE)
        self.folder = folder / self.namespace
        self.url = patient(url or server.url, 1)
        self.raw = server.client()
        self._open = ExitStack()
        about = [self.url, self.namespace]
        self.workers = [
            Process.python(
                *("-m", "queues.faults.worker_process", *about, self.folder / f"worker-{n}.jsonl"),
                *(str(lease), str(concurrency), str(grace)),
                name=f"worker {n}",
            )
            for n in range(1, workers + 1)
        ]

    def __enter__(self) -> Self:
        self.folder.mkdir()
        recorder = Recorder(self.folder / "producer.jsonl", failures=(QueueAtCapacity,))
        self.recorder = self._open.enter_context(recorder)
        self.hf = self._open.enter_context(self.client())
        for worker in self.workers:
            self._open.enter_context(worker)
        for worker in self.workers:
            worker.wait_for_output("serves", 90)
        return self

    def __exit__(self, *_: object) -> None:
        self._open.close()

    def client(self) -> Holdfast:
        """Return a client with no connection yet."""
        return Holdfast.from_url(self.url, namespace=self.namespace)

    def enqueue(self, call: Any, *, many: int = 0) -> list[TaskHandle[Any]]:
        """Enqueue *call*, or *many* of it under keys of their own; repeat until it succeeds.

        It is repeated as documented, so each is enqueued exactly once.

        Raises:
            QueueAtCapacity: nothing was enqueued.
        """
        key = call.args[0]
        calls = [_renamed(call, f"{key}.{n}") for n in range(many)]
        with ExitStack() as recorded:
            for each in calls or [call]:
                recorded.enter_context(self.recorder.operation("enqueue", key=each.args[0]))
            if calls:
                handles: list[TaskHandle[Any]] = insist(lambda: self.hf.enqueue_many(calls))
            else:
                handles = [insist(lambda: self.hf.enqueue(call))]
        return handles

    def history(self) -> list[Operation]:
        """Return what the producer and the workers did so far."""
        return read(self.folder.glob("*.jsonl"))

    def runs(self, key: str) -> list[Operation]:
        """Return the executions of one task, in the order of their starts."""
        return [run for run in self.history() if (run.kind, run.key) == ("complete", key)]

    def completed(self) -> set[str]:
        """Return the keys of the tasks that completed."""
        return {run.key for run in self.history() if (run.kind, run.outcome) == ("complete", "ok")}

    def places(self) -> QueueSnapshot:
        """Return the place of every task at one moment."""
        return QueueSnapshot.read(self.raw, self.unit)

    def drained(self, timeout: float) -> None:
        """Wait until nothing is ready, delayed or running."""
        eventually(self._is_drained, timeout, reason="the queue is drained")

    def _is_drained(self) -> bool:
        places = self.places()
        return not places.under_way and not places.ready  # nor a tombstone of a cancelled task

    def retire(self) -> None:
        """Stop the workers by SIGTERM.

        Raises:
            AssertionError: one of them had ended before, or has another exit code than 0.
        """
        for worker in self.workers:
            eventually(lambda worker=worker: is_at_work(worker), reason=f"{worker.name} serves")
            worker.terminate()
        statuses = {worker.name: worker.wait(60) for worker in self.workers}
        assert not any(statuses.values()), statuses

    def dead(self) -> dict[str, TaskStatus]:
        """Return the dead tasks, by their key."""
        bodies = self.raw.hgetall(keys.bodies(self.unit))
        listed = self.hf.queue(QUEUE).dead(limit=1000)
        return {json.loads(bodies[task.task_id.encode()])["args"][0]: task for task in listed}

    def settled(self, *, cancelled: Iterable[str] = ()) -> QueueCounts:
        """Check history and server after everything has ended.

        Args:
            cancelled: keys of tasks that need not have run.

        Raises:
            AssertionError: a promise was broken; the message names it.
        """
        places = self.places()
        places.check()
        assert not places.under_way
        dead = self.dead()
        assert len(dead) == len(places.dead)
        unit = self.unit
        kept = [key(unit) for key in (keys.bodies, keys.state, keys.dead, keys.progress)]
        stays = [keys.settings(self.unit)] if self.hf.queue(QUEUE).stats().capacity else []
        audit(self.raw, f"{self.namespace}:", stays + (kept if dead else []))
        history = self.history()
        each_claim_ran_once(history)
        each_call_is_one_task(history)
        for key, task in dead.items():
            meant = REASONS.get(re.split(r"[-.]", key)[0], ("crashed: ",))
            assert task.reason.startswith(meant), (key, task)
        return total_queue(history, dead=[*dead, *cancelled])


def each_claim_ran_once(history: list[Operation]) -> None:
    """Check that no two executions were of the same claim."""
    seen: dict[tuple[str, int], Operation] = {}
    for run in history:
        if run.kind == "complete":
            claim = run.fields["task_id"], run.fields["token"]
            assert claim not in seen, f"one claim ran twice:\n{seen[claim]}\n{run}"
            seen[claim] = run


def no_stored_step_ran_again(history: list[Operation]) -> None:
    """Check that no claim ran a step that this claim or an earlier one had stored.

    An older claim may: its worker was paused, and does not know yet that it has lost the task.
    """
    passed: dict[str, tuple[int, int]] = {}
    for run in history:
        if run.kind == "passed":
            first = run.fields["token"], run.invoke_ns
            passed[run.key] = min(first, passed.get(run.key, first))
    for run in history:
        if run.kind == "step" and run.key in passed:
            began = run.fields["token"], run.invoke_ns
            assert began <= passed[run.key], f"a stored step ran again: {run}"


def each_call_is_one_task(history: list[Operation]) -> None:
    """Check that no call was stored twice; each try to enqueue it packed it again."""
    stored: dict[str, set[tuple[str, str]]] = {}
    for run in history:
        if run.kind == "complete":
            task = run.fields["task_id"], run.fields["enqueued"]
            stored.setdefault(run.key, set()).add(task)
    doubled = {key: tasks for key, tasks in stored.items() if len(tasks) > 1}
    assert not doubled, f"stored more than once: {doubled}"


def is_at_work(worker: Process) -> bool:
    """Return whether the last run of *worker* serves already, so that a signal stops it."""
    return worker.is_running and f":{worker.pid}:" in worker.output


def _renamed(call: Any, key: str) -> Any:
    return replace(call, args=(key, *call.args[1:]))
