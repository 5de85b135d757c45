"""A failover that loses the end of a task: the task runs again, and its waiters get the result."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from faults.halves import HALVES, Half
from faults.sentinels import Watched
from faults.waiting import eventually
from holdfast import Holdfast, TaskRegistry

LEASE_S = 1.0
BOUND_S = 60.0
"""A guard against hanging."""

tasks = TaskRegistry()
ran: list[str] = []
gate = threading.Event()
later = threading.Event()


@tasks.task(queue="ends")
def plain(name: str) -> str:
    ran.append(name)
    gate.wait(BOUND_S)
    return name


@tasks.task(queue="ends", ack="now")
def acks_at_once(name: str) -> str:
    ran.append(name)
    gate.wait(BOUND_S)
    return name


@tasks.task(queue="ends")
def next_one() -> None:
    later.set()


@pytest.fixture
def watched(tmp_path: Path) -> Iterator[Watched]:
    with Watched(tmp_path, down_after_ms=2000) as watched:
        yield watched


@pytest.mark.sampled(2)
@pytest.mark.parametrize("task", [plain, acks_at_once], ids=["plain", "acks_at_once"])
@pytest.mark.parametrize("name", HALVES)
def test_a_task_runs_again_if_a_failover_lost_its_end(
    watched: Watched, name: str, task: object
) -> None:
    """The primary acknowledged its end and died; the replica did not have it yet."""
    ran.clear()
    gate.clear()
    later.clear()
    url = f"{watched.url}?socket_timeout=1"
    with closing(Half(name)) as half, Holdfast.from_url(url, namespace="lost") as hf:
        worker = hf.worker(tasks, lease=LEASE_S)
        thread = threading.Thread(target=worker.run)
        thread.start()
        try:
            handle = half.do(half.client(url, "lost").enqueue(task.call("sold")))  # type: ignore[attr-defined]
            eventually(lambda: ran == ["sold"])
            watched.cut_replicas()
            gate.set()
            assert half.do(handle.result(timeout=BOUND_S)) == "sold"
            hf.enqueue(next_one.call())
            assert later.wait(BOUND_S)  # The worker has read the reply: it will not settle again.
            watched.lose_primary()
            assert half.do(handle.result(timeout=BOUND_S)) == "sold"
            assert ran == ["sold", "sold"]
            status = half.do(handle.status())
            assert (status.state, status.crashes) == ("done", 0)
        finally:
            worker.stop(grace=0)
            thread.join()
        hf.worker(tasks, lease=LEASE_S).run(until_idle=True)
        stats = hf.queue("ends").stats()
        assert (stats.ready, stats.delayed, stats.running, stats.dead) == (0, 0, 0, 0)
        assert ran == ["sold", "sold"]
