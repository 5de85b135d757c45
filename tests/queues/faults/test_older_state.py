"""A server that restarts from an older state: its workers go on, and every task ends."""

import secrets
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from faults.halves import Half
from faults.rollback import Rollback
from faults.waiting import eventually
from holdfast import Retry, TaskHandle, TaskRegistry, current_task

LEASE_S = 1.0
LONG_LEASE_S = 3.0
"""A lease that outlasts the restart of a server, also on a loaded machine."""
DRAINED_S = 30.0
"""A guard against hanging: a lost claim costs a lease and some seconds."""

tasks = TaskRegistry()
ran: list[tuple[str, int]] = []
gates: dict[str, threading.Event] = {}


def _work(name: str) -> str:
    ran.append((name, current_task().token))
    gates[name].wait(DRAINED_S)
    return name


@tasks.task(queue="old")
def plain(name: str) -> str:
    return _work(name)


@tasks.task(queue="old", ack="now")
def acks_at_once(name: str) -> str:
    return _work(name)


@tasks.task(queue="old", retry=Retry(attempts=3, backoff=0.01))
def retried(name: str) -> str:
    _work(name)
    if len(ran) == 1:
        raise ValueError("not yet")
    return name


@tasks.task(queue="old", retry=Retry(attempts=1))
def dies(name: str) -> str:
    _work(name)
    if len(ran) == 1:
        raise ValueError("never")
    return name


@tasks.task(queue="old")
def next_one() -> None:
    """Run after another task: then the worker knows how the server took that one's end."""


@pytest.fixture(autouse=True)
def _afresh() -> None:
    ran.clear()
    gates.clear()


@pytest.fixture
def hf(half: Half, rollback: Rollback) -> Any:
    return half.client(f"{rollback.server.url}?socket_timeout=5", f"old-{secrets.token_hex(4)}")


@contextmanager
def working(half: Half, hf: Any, **options: Any) -> Iterator[Any]:
    """Run a worker of this half while the block lasts."""
    made: list[Any] = []
    options = {"lease": LEASE_S, **options}

    async def run() -> None:
        made.append(hf.worker(tasks, **options))
        await made[0].run()

    def serve() -> None:
        if half.name == "async":
            half.do(run())
        else:
            made.append(hf.worker(tasks, **options))
            made[0].run()

    thread = threading.Thread(target=serve)
    thread.start()
    eventually(lambda: made)
    try:
        yield made[0]
    finally:
        made[0].stop(grace=0)
        thread.join()


def begun(half: Half, hf: Any, call: Any) -> TaskHandle[Any]:
    """Return a task that was enqueued, and runs."""
    gates[call.args[0]] = threading.Event()
    handle: TaskHandle[Any] = half.do(hf.enqueue(call))
    eventually(lambda: len(ran) == 1)
    return handle


def state(half: Half, handle: Any) -> str:
    found: str = half.do(handle.status()).state
    return found


ENDS: dict[str, Callable[[Half, Any, Any], object]] = {
    "done": lambda half, hf, handle: half.do(handle.result(timeout=DRAINED_S)),
    "dead": lambda half, hf, handle: eventually(lambda: state(half, handle) == "dead"),
    "cancelled": lambda half, hf, handle: half.do(handle.cancel()),
}


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    ("task", "end"),
    [
        (plain, "done"),
        (acks_at_once, "done"),
        (retried, "done"),
        (dies, "dead"),
        (plain, "cancelled"),
    ],
    ids=["plain", "acks_at_once", "retried", "dead", "cancelled"],
)
def test_a_claim_is_released_if_the_server_forgot_its_end(
    half: Half, hf: Any, rollback: Rollback, task: Any, end: str
) -> None:
    """Its only worker lives on: it does not know the claim, so no step may extend it."""
    with working(half, hf):
        handle = begun(half, hf, task.call("sold"))
        rollback.save()
        if end != "cancelled":
            gates["sold"].set()
        ENDS[end](half, hf, handle)
        gates["sold"].set()
        half.do(half.do(hf.enqueue(next_one.call())).result(timeout=DRAINED_S))
        runs = len(ran)
        rollback.restart()
        assert half.do(handle.result(timeout=DRAINED_S)) == "sold"
    if end != "cancelled":  # its settlement may be on its way, and count after the restart
        assert len(ran) == runs + 1
    status = half.do(handle.status())
    assert (status.state, status.attempts, status.crashes) == ("done", 1, 0)


def test_a_task_that_runs_on_keeps_its_claim(half: Half, hf: Any, rollback: Rollback) -> None:
    """The server forgot several renewals of it: the worker reports it as held."""
    with working(half, hf, lease=LONG_LEASE_S):
        handle = begun(half, hf, plain.call("long"))
        rollback.save()
        time.sleep(1.2 * LONG_LEASE_S)
        rollback.restart()
        time.sleep(1.2 * LONG_LEASE_S)
        gates["long"].set()
        assert half.do(handle.result(timeout=DRAINED_S)) == "long"
    assert len(ran) == 1


def test_a_task_runs_again_if_the_server_forgot_its_claim(
    half: Half, hf: Any, rollback: Rollback
) -> None:
    """Its first run is stopped, or its settlement does not count."""
    gates["queued"] = threading.Event()
    handle = half.do(hf.enqueue(plain.call("queued")))
    rollback.save()
    with working(half, hf):
        eventually(lambda: ran)
        rollback.restart()
        gates["queued"].set()
        assert half.do(handle.result(timeout=DRAINED_S)) == "queued"
    eventually(lambda: state(half, handle) == "done")


def test_a_task_that_was_enqueued_after_the_older_state_is_unknown(
    half: Half, hf: Any, rollback: Rollback
) -> None:
    """It runs at that moment. Its settlement does not count, and the queue drains."""
    with working(half, hf, concurrency=2):
        handle = begun(half, hf, plain.call("sold"))
        rollback.save()
        gates["sold"].set()
        half.do(handle.result(timeout=DRAINED_S))
        gates["other"] = threading.Event()
        other = half.do(hf.enqueue(plain.call("other")))
        eventually(lambda: len(ran) == 2)
        rollback.restart()
        gates["other"].set()
        assert half.do(handle.result(timeout=DRAINED_S)) == "sold"
        eventually(lambda: state(half, other) == "unknown")  # it was enqueued after that state
        stats = half.do(hf.queue("old").stats())
        assert (stats.ready, stats.running, stats.dead) == (0, 0, 0)
