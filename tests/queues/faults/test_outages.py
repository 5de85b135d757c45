"""The server goes away, or a worker does: everything goes on by itself, in bounded time."""

import contextlib
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from faults.processes import Process
from faults.proxy import Proxy
from faults.servers import Server
from faults.stubborn import insist
from faults.waiting import eventually
from holdfast import Holdfast, OutcomeUnknown, ServerUnavailable
from queues.faults import chores
from queues.faults.queue_snapshot import let_leases_end
from queues.faults.worker_fleet import WorkerFleet

LEASE_S = 1.0
HEARD_S = 30.0  # a producer with a timeout of 1 s has an answer by then
HEALED_S = 60.0  # a worker tries again every second, then waits for leases; the rest is slack

PROMISED_S = 5.0  # tasks of a killed worker run again so long after the end of their lease
SLACK_S = 25.0  # for slow machines

OUTAGES = [2.0, pytest.param(10.0, marks=pytest.mark.long)]


@contextlib.contextmanager
def killed(server: Server) -> Iterator[None]:
    """Stop the server during the block."""
    server.kill()
    yield
    server.start()


@contextlib.contextmanager
def refusing(proxy: Proxy) -> Iterator[None]:
    """Refuse connections during the block."""
    with proxy.refuse():
        yield


@contextlib.contextmanager
def paused(server: Server) -> Iterator[None]:
    server.pause()
    try:
        yield
    finally:
        server.resume()


def during_an_outage(fleet: WorkerFleet, seconds: float) -> list[Callable[[], object]]:
    ends_at_s = time.monotonic() + seconds
    unknown: list[Callable[[], object]] = []
    n = 0
    while time.monotonic() < ends_at_s:
        n += 1
        began_s = time.monotonic()
        call = chores.plain.call(f"unheard-{n}")
        with fleet.recorder.operation("enqueue", key=f"unheard-{n}") as enqueue:
            try:
                fleet.hf.enqueue(call)
            except ServerUnavailable:
                enqueue.fail()
            except OutcomeUnknown as error:
                enqueue.unknown()
                unknown.append(error.repeat)
            else:
                raise AssertionError("the server answered")
        assert time.monotonic() - began_s < HEARD_S
        time.sleep(0.1)
    return unknown


def refused(hf: Holdfast) -> None:
    began_s = time.monotonic()
    with pytest.raises(ServerUnavailable, match="was not applied"):
        hf.enqueue(chores.plain.call("refused"))
    assert time.monotonic() - began_s < HEARD_S


def lives_through(
    fleet: WorkerFleet, outage: contextlib.AbstractContextManager[object], s: float
) -> None:
    """Run a worker and its producers before, during and after an outage of so many seconds."""
    [worker] = fleet.workers
    pid = worker.pid
    with fleet.client() as newcomer:
        fleet.enqueue(chores.on_the_loop.call("spans", s + 1))
        fleet.enqueue(chores.plain.call("before"))
        eventually(lambda: "before" in fleet.completed() and fleet.runs("spans"))
        with outage:
            refused(newcomer)
            unknown = during_an_outage(fleet, s)
        for repeat in unknown:
            insist(repeat)
        fleet.enqueue(chores.plain.call("after"))
        with fleet.recorder.operation("enqueue", key="newcomer"):
            insist(lambda: newcomer.enqueue(chores.plain.call("newcomer")))
    eventually(lambda: "after" in fleet.completed(), HEALED_S)
    fleet.drained(s + HEALED_S)
    assert worker.pid == pid
    fleet.retire()
    fleet.settled()
    assert len(fleet.dead()) == 0
    assert len([key for key in fleet.completed() if key.startswith("unheard")]) == len(unknown)


@pytest.mark.parametrize("seconds", OUTAGES)
def test_a_worker_heals_after_the_server_was_killed(
    fresh_server: Server, tmp_path: Path, seconds: float
) -> None:
    with WorkerFleet(fresh_server, tmp_path, workers=1, lease=LEASE_S) as fleet:
        lives_through(fleet, killed(fresh_server), seconds)


@pytest.mark.parametrize("seconds", OUTAGES)
def test_a_worker_heals_after_the_server_could_not_be_reached(
    standalone: Server, proxy: Proxy, tmp_path: Path, seconds: float
) -> None:
    with WorkerFleet(standalone, tmp_path, workers=1, lease=LEASE_S, url=proxy.url) as fleet:
        lives_through(fleet, refusing(proxy), seconds)


def test_a_worker_heals_after_the_server_hung(fresh_server: Server, tmp_path: Path) -> None:
    with WorkerFleet(fresh_server, tmp_path, workers=1, lease=LEASE_S) as fleet:
        lives_through(fleet, paused(fresh_server), 3.0)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("concurrency", [1, 4])
def test_a_task_that_kills_its_workers_ends_dead(
    standalone: Server, tmp_path: Path, concurrency: int
) -> None:
    with WorkerFleet(standalone, tmp_path, workers=1, lease=60.0, concurrency=concurrency) as fleet:
        [worker] = fleet.workers
        worker.stop()
        fleet.enqueue(chores.plain.call("before"), many=10)
        fleet.enqueue(chores.deadly.call("deadly", 0.3 if concurrency > 1 else 0.0))
        fleet.enqueue(chores.plain.call("after"), many=10)
        for deaths in range(1, 4):
            worker.start()
            worker.wait(60)
            assert worker.returncode == -9
            assert len(fleet.runs("deadly")) == deaths
            let_leases_end(fleet.raw, fleet.unit)
        worker.start()
        fleet.drained(60)
        fleet.retire()
        fleet.settled()
        assert list(fleet.dead()) == ["deadly"]
        assert fleet.dead()["deadly"].reason.startswith("crashed: 3 workers")
        assert len(fleet.completed()) == 20


@pytest.mark.sampled(3)
@pytest.mark.parametrize("other", ["waits", "is busy", "comes"])
def test_the_tasks_of_a_killed_worker_run_again_in_time(
    standalone: Server, tmp_path: Path, other: str
) -> None:
    """Nothing else is enqueued, so nothing wakes the worker that is to take them over."""
    lease_s = 2.0
    gate = tmp_path / "gate"
    with WorkerFleet(standalone, tmp_path, workers=2, lease=lease_s, concurrency=4) as fleet:
        if other == "comes":
            fleet.workers[1].stop()
        keys = [f"held-{n}" for n in range(8 if other == "is busy" else 1)]
        eventually(
            lambda: fleet.hf.queue(chores.QUEUE).stats().waiting_workers > (other != "comes")
        )
        for key in keys:
            fleet.enqueue(chores.waits.call(key, str(gate)))
            eventually(lambda key=key: fleet.runs(key))
        victim = holder(fleet, keys[0])
        held = [key for key in keys if holder(fleet, key) is victim]
        victim.kill()
        killed_ns = time.monotonic_ns()
        gate.touch()
        if other == "comes":
            fleet.workers[1].start()
        bound_s = lease_s + PROMISED_S + SLACK_S
        eventually(lambda: all(len(fleet.runs(key)) == 2 for key in held), bound_s)
        took_s = [(fleet.runs(key)[1].invoke_ns - killed_ns) / 1e9 for key in held]
        print(f"{len(held)} tasks run again after {max(took_s):.2f} s")
        assert max(took_s) < bound_s
        fleet.drained(60)
        fleet.workers.remove(victim)
        fleet.retire()
        fleet.settled()


ENDS = {
    "batched": (chores.waits_on_the_loop, chores.waits),
    "now": (chores.waits_and_acks,),
    "mixed": (chores.waits_on_the_loop, chores.waits, chores.waits_and_acks),
}


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    "ack",
    [
        "batched",
        pytest.param("now", marks=pytest.mark.long),
        "mixed",
    ],
)
def test_what_ended_during_an_outage_does_not_run_again(
    standalone: Server, proxy: Proxy, tmp_path: Path, ack: str
) -> None:
    early, late = tmp_path / "early", tmp_path / "late"
    lease_s = 3.0
    with (
        WorkerFleet(
            standalone, tmp_path, workers=1, lease=lease_s, concurrency=16, url=proxy.url
        ) as fleet,
        Holdfast.from_url(standalone.url, namespace=fleet.namespace) as direct,
    ):
        [worker] = fleet.workers
        handles = []
        for task in ENDS[ack]:
            handles += fleet.enqueue(task.call(f"ends-{task.name}", str(early)), many=4)
        [long] = fleet.enqueue(chores.waits_on_the_loop.call("long", str(late)))
        expected = len(handles) + 1
        eventually(lambda: len([run for run in fleet.history() if run.process]) >= 2 * expected)
        with refusing(proxy):
            early.touch()  # well within the lease, as the worker counts it
            eventually(lambda: len(fleet.completed()) == len(handles))
            time.sleep(lease_s + 1.0)
            assert direct.queue(chores.QUEUE).stats().running == expected
        eventually(lambda: len(fleet.runs("long")) == 2, HEALED_S)
        status = direct.queue(chores.QUEUE).handle(long.task_id).status()
        late.touch()
        fleet.drained(HEALED_S)
        fleet.retire()
        ran = {run.key: 0 for run in fleet.history()}
        for run in fleet.history():
            ran[run.key] += run.kind == "complete"
        assert ran.pop("long") == 2
        assert set(ran.values()) == {1}, ran
        assert (status.state, status.attempts, status.crashes) == ("running", 1, 0)
        assert "does not count" not in worker.output
        for handle in handles:
            done = handle.status()
            assert (done.state, done.attempts) == ("done", 1)
        fleet.settled()


def test_a_task_does_not_wait_for_a_worker_that_hangs(standalone: Server, tmp_path: Path) -> None:
    """It was notified and never came; another one that waits finds the task by itself."""
    with WorkerFleet(standalone, tmp_path, workers=2, lease=LEASE_S) as fleet:
        eventually(lambda: fleet.hf.queue(chores.QUEUE).stats().waiting_workers == 2)
        fleet.enqueue(chores.plain.call("first"))
        fleet.drained(60)
        awake = holder(fleet, "first")
        eventually(lambda: fleet.hf.queue(chores.QUEUE).stats().waiting_workers == 2)
        [hanging] = [worker for worker in fleet.workers if worker is not awake]
        hanging.pause()  # it has waited longer, so it is the one to be notified
        fleet.enqueue(chores.plain.call("second"))
        eventually(lambda: "second" in fleet.completed(), PROMISED_S + SLACK_S)
        assert holder(fleet, "second") is awake
        hanging.resume()
        fleet.drained(60)
        fleet.retire()
        fleet.settled()


def holder(fleet: WorkerFleet, key: str) -> Process:
    """Return the worker that started the task first."""
    process = fleet.runs(key)[0].process
    return next(worker for worker in fleet.workers if process.endswith(f":{worker.pid}"))
