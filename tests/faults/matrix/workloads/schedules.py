"""Schedules that fire each second: workers fire them, and managers change and trigger them."""

import time
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, ClassVar

from faults.history import Operation
from faults.matrix.cell_result import Violation, caught
from faults.matrix.client import Client
from faults.matrix.workloads import queues
from faults.nursery import Actor
from faults.stubborn import insist
from holdfast import Every, Holdfast
from queues.faults import chores
from queues.faults.worker_fleet import each_claim_ran_once

NAMES = [f"each-second-{n}" for n in range(4)]
INTERVAL_MS = 1000


def define(hf: Any, name: str, text: str, op_id: str | None = None) -> Any:
    """Store a schedule; only the argument of its task differs from time to time."""
    phase_s = NAMES.index(name) / len(NAMES)
    call = chores.on_the_loop.call(text)
    return hf.schedule(name, call, Every(1, phase=phase_s), missed="all", op_id=op_id)


def manage(**about: Any) -> None:
    """Change schedules and trigger them until the end. Neither may cost an instant."""
    with Client(**about) as client:
        client.share(_manage)


def _manage(client: Client, me: str) -> None:
    number = client.number
    while not client.over:
        name = client.dice.choice(NAMES)
        key = f"{me}-{number}"
        if client.dice.random() < 0.5:
            with client.operation("trigger", key, number=number) as op:
                op.result = client.write(partial(_trigger, client.hf, name), op).task_id
        else:
            with client.operation("define", key, number=number) as op:
                client.write(partial(define, client.hf, name, key), op)
        number += 1
        time.sleep(client.dice.uniform(0, 0.2))


def _trigger(hf: Any, name: str, op_id: str) -> Any:
    return hf.schedule_handle(name).trigger(op_id=op_id)


def work(**about: Any) -> None:
    """Serve until SIGTERM."""
    queues.work(**about)


class Schedules(queues.Queues):
    """Two managers, two workers, schedules of one queue."""

    module: ClassVar[str] = __name__
    kinds: ClassVar[frozenset[str]] = frozenset({"trigger", "define", "complete"})

    def begin(self) -> None:
        with self.open() as hf:
            for name in NAMES:
                define(hf, name, "first")
        super().begin()

    def actors(self) -> list[Actor]:
        found = super().actors()
        producers = len(self._producers)
        self._producers = [
            self.actor("manage", f"manager-{half}", half) for half in ("sync", "async")
        ]
        return [*self._producers, *found[producers:]]

    def end(self) -> None:
        """Stop the schedules as well, so that the queue can be drained."""
        with self.open() as hf:
            for name in NAMES:
                insist(hf.schedule_handle(name).pause)
        super().end()

    def repeated(self, history: Sequence[Operation]) -> int:
        """Tasks that ran to their end more than once."""
        ended = [op for op in history if op.kind == "complete" and op.outcome == "ok"]
        ran = Counter(op.fields["task_id"] for op in ended)
        return sum(times > 1 for times in ran.values())

    def longest_s(self, history: Sequence[Operation]) -> float:
        return 0.0  # its tasks are those of the queue

    def judge(self, history: Sequence[Operation]) -> list[Violation]:
        with Holdfast.from_url(self.url, namespace=self.namespace) as hf:
            last_ms = {
                each.name: round(each.last_at.timestamp() * 1000)
                for each in hf.schedules()
                if each.last_at
            }
        return judge(history, last_ms)


def judge(history: Sequence[Operation], last_ms: Mapping[str, int]) -> list[Violation]:
    """Check: each instant and each trigger became one task, which ran; nothing else did.

    Args:
        history: of managers and workers.
        last_ms: schedule → the last instant that was handled.
    """
    ran = {op.fields["task_id"] for op in history if op.kind == "complete" and op.outcome == "ok"}
    begun = [op for op in history if op.kind == "trigger"]
    instants: dict[str, set[int]] = defaultdict(set)
    others = 0
    for task_id in ran:
        name, _, label = task_id.rpartition("@")
        if label.isdecimal() and len(label) == len(str(last_ms.get(name, 0))):
            instants[name].add(int(label))
        else:
            others += 1
    found = [
        Violation("lost", f"{name}@{instant} never ran")
        for name, last in last_ms.items()
        for instant in range(min(instants[name], default=last), last + 1, INTERVAL_MS)
        if instant not in instants[name]
    ]
    found += [
        Violation("lost", f"{op.value}, which {op.key} triggered, never ran", op.return_ns)
        for op in begun
        if op.outcome == "ok" and op.value not in ran
    ]
    if others > len(begun):
        found.append(Violation("doubled", f"{len(begun)} triggers became {others} tasks"))
    off_grid = [each for all_ in instants.values() for each in all_ if each % 250]
    found += [Violation("doubled", f"nothing was due at {each}") for each in off_grid]
    return found + caught("doubled", each_claim_ran_once, list(history))
