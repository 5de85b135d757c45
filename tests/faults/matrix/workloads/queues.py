"""A task queue: producers of both halves, and workers that are processes of their own."""

import os
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

from faults.checkers.total_queue import missing
from faults.history import Operation
from faults.matrix.cell_result import Violation, caught
from faults.matrix.client import Client
from faults.matrix.workloads.base import POISON, Workload
from faults.nursery import Actor
from faults.waiting import eventually
from holdfast import Gap, Holdfast, Queue, TaskEvent, TaskFailed
from holdfast.core.names import Namespace, Unit
from holdfast.queues import keys
from queues.faults import chores, worker_process
from queues.faults import supervised as supervising
from queues.faults.queue_snapshot import QueueSnapshot
from queues.faults.worker_fleet import (
    each_call_is_one_task,
    each_claim_ran_once,
    no_stored_step_ran_again,
)

LEASE_S = 1.0
AT_ONCE = 4
POISONER = "producer-sync.0"

KINDS = [
    chores.plain,
    chores.on_the_loop,
    chores.acks_at_once,
    chores.in_steps,
    chores.in_steps_by_a_thread,
]

DRAINED_S = 40.0
WORKERS = 2

THEN = ".then"
"""The key of a callback ends with this, after the key of its group."""

SHORT_S = 0.05
LONG_S = 0.5
LONG = 0.1
"""This share of the tasks is long, so that who kills a worker interrupts one."""

GROUPS = 0.15
"""This share of what producers enqueue are groups of two tasks and a callback."""


def produce(*, supervised: str = "", **about: Any) -> None:
    """Enqueue tasks until the end: threads and coroutines, short and not so short."""
    kinds = [*KINDS, supervising.computed] if supervised else KINDS
    with Client(**about) as client:
        client.share(partial(_produce, Path(about["folder"]).parent / POISON, kinds))


def _produce(poison: Path, kinds: Sequence[Any], client: Client, me: str) -> None:
    number, poisoned = client.number, False
    while not client.over:
        key = f"{me}-{number}"
        task = client.dice.choice(kinds)
        longest_s = LONG_S if client.dice.random() < LONG else SHORT_S
        call = task.call(key, client.dice.uniform(0, longest_s))
        if client.dice.random() < GROUPS:
            _produce_group(client, key, number)
        else:
            with client.operation("enqueue", key, number=number) as op:
                op.result = client.write(partial(_enqueue, client.hf, call), op).task_id
        number += 1
        if me == POISONER and poison.exists() and not poisoned:
            poisoned = True
            with client.operation("enqueue", f"deadly-{me}") as op:
                call = chores.deadly.call(f"deadly-{me}")
                op.result = client.write(partial(_enqueue, client.hf, call), op).task_id
        time.sleep(client.dice.uniform(0, 0.1))


def _enqueue(hf: Any, call: Any, op_id: str) -> Any:
    return hf.enqueue(call, op_id=op_id)


def _produce_group(client: Client, key: str, number: int) -> None:
    """Enqueue two tasks, and one that is called when both are done; each is on record."""
    *members, then = (chores.on_the_loop.call(f"{key}{name}") for name in (".0", ".1", THEN))
    with (
        client.operation("enqueue", f"{key}.0", number=number) as first,
        client.operation("enqueue", f"{key}.1") as second,
        client.operation("enqueue", f"{key}{THEN}") as last,
    ):
        handle = client.write(partial(_enqueue_group, client.hf, members, then), first)
        for op, name in ((first, "0"), (second, "1"), (last, "then")):
            op.result = f"{handle.group_id}/{name}"


def _enqueue_group(hf: Any, members: Any, then: Any, op_id: str) -> Any:
    return hf.enqueue_group(members, then=then, op_id=op_id)


def work(*, url: str, namespace: str, folder: str, name: str, access: str = "", **_: Any) -> None:
    """Serve until SIGTERM."""
    history = f"{folder}/{name}.jsonl"
    worker_process.main(url, namespace, history, str(LEASE_S), str(AT_ONCE), "5", access)


def supervise(
    *, url: str, namespace: str, folder: str, name: str, supervised: str, **_: Any
) -> None:
    """Become `holdfast worker` with the options *supervised*."""
    where = ["--url", url, "--namespace", namespace, "--grace", "5", "--quiet"]
    how = ["--lease", str(LEASE_S), "--concurrency", str(AT_ONCE), *supervised.split()]
    argv = [sys.executable, "-m", "holdfast", "worker", f"{supervising.__name__}:tasks"]
    environment = {**os.environ, supervising.HISTORY: f"{folder}/{name}"}
    os.execve(sys.executable, [*argv, *where, *how], environment)


class Queues(Workload):
    """Two producers, one or two workers, one queue."""

    module: ClassVar[str] = __name__
    kinds: ClassVar[frozenset[str]] = frozenset({"enqueue", "complete"})
    queue: ClassVar[str] = chores.QUEUE

    def units(self) -> list[Unit]:
        """Return the queue, or its partitions."""
        return [Namespace.of(self.namespace).unit(keys.KIND, self.queue)]

    def slots(self) -> list[int]:
        return [unit.slot for unit in self.units()]

    def actors(self) -> list[Actor]:
        self._producers = [
            self.actor("produce", f"producer-{half}", half) for half in ("sync", "async")
        ]
        workers = 1 if self.alone else WORKERS
        play = "supervise" if "supervised" in self.how else "work"
        self._workers = [self.actor(play, f"worker-{n}", "sync") for n in range(workers)]
        return [*self._producers, *self._workers]

    def end(self) -> None:
        """Let the producers end, drain the queue, and let the workers end."""
        (self.folder / "stop").touch()
        for producer in self._producers:
            producer.wait(60)
        with self.scene.client() as raw:
            eventually(lambda: self._is_drained(raw), DRAINED_S, reason="the queue is drained")
        for worker in self._workers:
            worker.terminate()
        for worker in self._workers:
            worker.wait()
        if "supervised" in self.how:
            eventually(lambda: not self._left_over(), reason="no worker process is left over")

    def _left_over(self) -> list[Path]:
        """Return the processes, at any depth below a supervisor, that still exist."""
        mark = f"{supervising.HISTORY}={self.folder}/".encode()
        found = []
        for path in Path("/proc").glob("[0-9]*/environ"):
            with suppress(OSError):
                if mark in path.read_bytes():
                    found.append(path)
        return found

    def repeated(self, history: Sequence[Operation]) -> int:
        """Tasks that ran to their end more than once."""
        ran = Counter(op.key for op in history if op.kind == "complete" and op.outcome == "ok")
        return sum(times > 1 for times in ran.values())

    def longest_s(self, history: Sequence[Operation]) -> float:
        return longest_until_again_s(history)

    def judge(self, history: Sequence[Operation]) -> list[Violation]:
        with (
            self.scene.client() as raw,
            Holdfast.from_url(self.url, namespace=self.namespace) as hf,
        ):
            places = [QueueSnapshot.read(raw, unit) for unit in self.units()]
            queue = hf.queue(self.queue)
            dead = {task.task_id for task in queue.dead(limit=1000)}
            counted = {
                op.fields["task_id"]: _result(queue, op.fields["task_id"])
                for op in history
                if op.kind == "complete"
            }
            events_by_task = {} if self.lossy else {each: _events(queue, each) for each in counted}
        found = [each for one in places for each in caught("astray", one.check)]
        found += judge(history, dead, counted)
        found += judge_events(events_by_task, counted, all_stored=not self.refuses_events)
        if not self._processes_came_and_went():
            found.append(Violation("astray", "no process was started in place of another one"))
        return found

    def _processes_came_and_went(self) -> bool:
        """Return whether the fault did what it should; each process has a history of its own."""
        histories = [*self.folder.glob("worker-*.jsonl")]
        return "supervised" not in self.how or len(histories) > 4 * WORKERS

    def _is_drained(self, raw: Any) -> bool:
        for worker in self._workers:
            if not worker.is_alive():  # a task killed it, as late as now
                worker.start()
        if raw.exists(keys.member_ends(self.units()[0])):  # their groups may call something
            return False
        places = [QueueSnapshot.read(raw, unit) for unit in self.units()]
        return not any(each.under_way or each.ready for each in places)


def judge(
    history: Sequence[Operation], dead: set[str], counted: dict[str, int | None]
) -> list[Violation]:
    """Check: nothing lost, invented, stored twice, or run twice by one claim.

    Args:
        history: of producers and workers.
        dead: ids of the tasks that were given up.
        counted: task → the token of the claim with the end that counts, if there is one.
    """
    ids = {op.key: op.value for op in history if op.kind == "enqueue" and op.outcome == "ok"}
    dead_keys = {key for key, task_id in ids.items() if task_id in dead}
    dead_keys |= {key.rpartition(".")[0] + THEN for key in dead_keys}  # a dead member: no callback
    lost, unasked = missing(history, dead=dead_keys)
    acknowledged_ns = {op.key: op.return_ns for op in history if op.kind == "enqueue"}
    found = [Violation("lost", f"{key} never ran", acknowledged_ns[key]) for key in sorted(lost)]
    found += [Violation("doubled", f"{key} ran, and was never enqueued") for key in unasked]
    found += caught("doubled", each_call_is_one_task, list(history))
    found += caught("doubled", each_claim_ran_once, list(history))
    found += caught("doubled", no_stored_step_ran_again, list(history))
    return found + _late_words(history, counted)


def longest_until_again_s(history: Sequence[Operation]) -> float:
    """Return the longest time until an interrupted task began again."""
    began: dict[str, Operation] = {}
    longest_ns = 0
    for op in history:
        if op.kind == "complete":
            before = began.get(op.key)
            if before is not None and before.return_ns is None:
                longest_ns = max(longest_ns, op.invoke_ns - before.invoke_ns)
            began[op.key] = op
    return longest_ns / 1e9


def _late_words(history: Sequence[Operation], counted: dict[str, int | None]) -> list[Violation]:
    """Check that the end of the latest claim of each task counts, and no older one."""
    claims: dict[str, list[Operation]] = defaultdict(list)
    for op in history:
        if op.kind == "complete":
            claims[op.fields["task_id"]].append(op)
    found = []
    for task_id, token in counted.items():
        latest = max(op.fields["token"] for op in claims[task_id])
        if token is not None and token != latest:
            found.append(
                Violation("stale", f"{task_id}: claim {token} counts, {latest} came after it")
            )
    return found


def judge_events(
    events_by_task: Mapping[str, Sequence[TaskEvent | Gap]],
    counted: Mapping[str, int | None],
    *,
    all_stored: bool = True,
) -> list[Violation]:
    """Check the events: numbers without gaps, none twice, and all of the claim that counts.

    Args:
        events_by_task: task → its events.
        counted: task → the token of the claim with the end that counts, if there is one.
        all_stored: whether the server refused none.
    """
    found = []
    for task_id, events in events_by_task.items():
        if any(isinstance(event, Gap) for event in events):
            if not all_stored:
                continue
            found.append(Violation("lost", f"{task_id}: its events have gaps"))
            continue
        if [event.number for event in events] != list(range(1, len(events) + 1)):
            found.append(Violation("astray", f"{task_id}: the numbers of its events have gaps"))
        reported = [tuple(event.data) for event in events]
        if len(reported) != len(set(reported)):
            found.append(Violation("doubled", f"{task_id}: an event was stored twice"))
        token = counted[task_id]
        if (
            all_stored
            and token is not None
            and [what for by, what in reported if by == token] != ["began", "ended"]
        ):
            found.append(Violation("lost", f"{task_id}: events of claim {token} are missing"))
    return found


def _events(queue: Queue, task_id: str) -> list[TaskEvent | Gap]:
    return list(queue.handle(task_id).events(timeout=0))


def _result(queue: Queue, task_id: str) -> int | None:
    try:
        token: int = queue.handle(task_id).result(timeout=0)
    except (TaskFailed, TimeoutError, LookupError):
        return None
    return token
