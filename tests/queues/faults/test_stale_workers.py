"""Workers that were believed dead: a late settlement does not count."""

import time
from collections.abc import Sequence
from typing import Any

import pytest

from conftest import Site
from faults.waiting import eventually
from holdfast import Holdfast, TaskRegistry
from holdfast.core import ledger
from holdfast.core.names import Namespace
from holdfast.queues import keys
from holdfast.queues.worker.step import STEP

tasks = TaskRegistry()


@tasks.task(queue="work")
def note() -> None: ...


FACTS = "1:4:note"


class ManualWorker:
    """A worker that makes a step only when the test asks for one."""

    def __init__(self, site: Site) -> None:
        unit = Namespace.of(site.namespace).unit(keys.KIND, "work")
        self._unit = unit
        self._client = site.client
        self._number = 0
        self.ended: list[bytes] = []  # by the last step
        self._writer = ledger.new_writer()
        self._channel = unit.key(f"notify:{self._writer}")
        self._keys = STEP.keys(unit)

    def step(self, want: int, *settled: Any, lease_ms: int = 60_000, again: bool = False) -> Any:
        """Make one step, and return how it settled, and the claims as (id, token)."""
        self._number += not again
        names, args = (
            self._named(settled),
            (self._channel, "hand", want, want, lease_ms, 3, 30_000, *settled),
        )
        reply = self._client.eval(
            STEP.source, len(names), *names, self._writer, self._number, *args
        )
        _, _, accepted, _, claims, self.ended, *_ = reply
        return accepted, list(zip(claims[::6], claims[1::6], strict=True))

    def settle(self, task_id: bytes, token: bytes) -> bytes:
        """Settle one task as done beside all steps, as `ack="now"` does. Return the reply."""
        settled = (task_id, token, "done", 0, "", FACTS)
        names, args = self._named(settled), ("", "hand", 0, 0, 60_000, 3, 0, *settled)
        reply = self._client.eval(STEP.source, len(names), *names, ledger.new_writer(), 1, *args)
        return bytes(reply[2])

    def _named(self, settled: Sequence[Any]) -> list[str]:
        done = (i for i in range(0, len(settled), 6) if settled[i + 2] == "done")
        return [*self._keys, *(keys.result(self._unit, settled[i].decode()) for i in done)]


def test_a_worker_cannot_settle_what_another_one_has(hf: Holdfast, site: Site) -> None:
    """Its lease ended, the task was claimed again; only the later claim counts."""
    late, other = ManualWorker(site), ManualWorker(site)
    hf.enqueue(note.call().options(task_id="sold-17"))
    _, [(task_id, old)] = late.step(1, lease_ms=1)
    _, [(_, new)] = eventually(lambda: claimed(other))
    assert int(new) > int(old)
    for verb in ("done", "retry", "dead", "release", "park"):
        assert late.step(0, task_id, old, verb, 0, "", FACTS) == (b"0", [])
    assert hf.queue("work").stats().running == 1
    assert other.step(0, task_id, new, "done", 0, "", FACTS) == (b"1", [])


@pytest.mark.parametrize("crashes", [1, 3])
def test_a_worker_cannot_settle_what_was_taken_back(hf: Holdfast, site: Site, crashes: int) -> None:
    late, other = ManualWorker(site), ManualWorker(site)
    hf.enqueue(note.call().options(task_id="sold-17"))
    for _ in range(crashes):
        _, [(task_id, token)] = late.step(1, lease_ms=1)
        eventually(lambda: other.step(0) and hf.queue("work").stats().running == 0)
    before = hf.queue("work").stats()
    for verb in ("done", "retry", "dead", "release", "park"):
        assert late.step(0, task_id, token, verb, 0, "", FACTS) == (b"0", [])
    assert hf.queue("work").stats() == before
    assert [dead.reason[:9] for dead in hf.queue("work").dead()] == ["crashed: "] * (crashes // 3)


def test_a_worker_cannot_settle_a_later_task_of_the_same_id(hf: Holdfast, site: Site) -> None:
    """The id was free again, and enqueued again: tokens grow over all its lives."""
    late, other, third = ManualWorker(site), ManualWorker(site), ManualWorker(site)
    hf.enqueue(note.call().options(task_id="sold-17"))
    _, [(task_id, old)] = late.step(1, lease_ms=1)
    _, [(_, new)] = eventually(lambda: claimed(other))
    assert other.step(0, task_id, new, "done", 0, "", FACTS) == (b"1", [])
    hf.enqueue(note.call().options(task_id="sold-17"))
    _, [(_, newest)] = third.step(1)
    assert int(newest) > int(new) > int(old)
    assert late.step(0, task_id, old, "done", 0, "", FACTS) == (b"0", [])
    assert third.step(0, task_id, newest, "done", 0, "", FACTS) == (b"1", [])


def test_a_step_that_arrives_twice_claims_once(hf: Holdfast, site: Site) -> None:
    worker = ManualWorker(site)
    assert worker.step(1) == (b"", [])
    hf.enqueue(note.call())
    assert worker.step(1, again=True) == (b"", [])
    assert hf.queue("work").stats().ready == 1


def test_settling_at_once_after_an_outage_keeps_the_other_leases(hf: Holdfast, site: Site) -> None:
    """The first to make a step again is the worker itself: one that only settles a task."""
    worker, other = ManualWorker(site), ManualWorker(site)
    hf.enqueue_many([note.call() for _ in range(3)])
    _, [(first, token), *held] = worker.step(3, lease_ms=1)
    eventually(lambda: late_by_the_server(site))
    assert worker.settle(first, token) == b"1"
    assert hf.queue("work").stats().running == 2
    for task_id, its_token in held:
        assert worker.step(0, task_id, its_token, "done", 0, "", FACTS) == (b"1", [])
    assert other.step(3) == (b"", [])


def test_a_step_extends_no_claim(hf: Holdfast, site: Site) -> None:
    worker, other = ManualWorker(site), ManualWorker(site)
    hf.enqueue_many([note.call() for _ in range(2)])
    _, claims = worker.step(2, lease_ms=1)
    eventually(lambda: late_by_the_server(site))
    unit = Namespace.of(site.namespace).unit(keys.KIND, "work")
    before = site.client.zrange(keys.leases(unit), 0, -1, withscores=True)
    for _ in range(3):
        worker.step(0)
        assert sorted(worker.ended) == sorted(part for claim in claims for part in claim)
    assert site.client.zrange(keys.leases(unit), 0, -1, withscores=True) == before
    other.step(0)
    worker.step(0)
    assert (hf.queue("work").stats().running, worker.ended) == (0, [])


def late_by_the_server(site: Site) -> bool:
    """Return whether earlier leases of a millisecond have ended."""
    unit = Namespace.of(site.namespace).unit(keys.KIND, "work")
    ends = site.client.zrange(keys.leases(unit), 0, -1, withscores=True)
    return all(time.time() * 1000 > at + 5 for _, at in ends)


def claimed(worker: ManualWorker) -> Any:
    accepted, claims = worker.step(1)
    return (accepted, claims) if claims else None
