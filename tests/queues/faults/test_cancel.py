"""A running task is cancelled by another process: at once, and its end does not count."""

from collections.abc import Callable
from pathlib import Path

import pytest

from faults.proxy import Proxy
from faults.servers import Server
from faults.waiting import eventually
from holdfast import Holdfast, TaskFailed, TaskHandle
from holdfast.queues import keys
from queues.faults import chores
from queues.faults.worker_fleet import WorkerFleet

FUNCTIONS = ["waits", "waits_on_the_loop"]


def is_stopped(fleet: WorkerFleet, key: str) -> bool:
    """Return whether the only execution of a task was stopped before its end."""
    [run] = fleet.runs(key)
    assert run.outcome != "ok"
    return run.return_ns is not None


def cancelled_elsewhere(fleet: WorkerFleet, task_id: str) -> TaskHandle[int]:
    """Cancel a task as another process does: it knows its id."""
    with fleet.client() as other_client:
        handle = other_client.queue(chores.QUEUE).handle(task_id)
        assert handle.cancel() is True
        assert handle.cancel() is False
        assert handle.status().state == "cancelled"
    return handle


def lease_left_s(fleet: WorkerFleet, task_id: str) -> float:
    """Return how long the lease of a running task still lasts."""
    seconds, microseconds = fleet.raw.time()
    ends_ms = fleet.raw.zscore(keys.leases(fleet.unit), task_id)
    return float(ends_ms) / 1000 - seconds - microseconds / 1e6


@pytest.mark.sampled(2)
@pytest.mark.parametrize("function", FUNCTIONS)
def test_a_running_task_is_stopped_at_once(
    standalone: Server, tmp_path: Path, function: str
) -> None:
    """Long before its worker would ask for its lease; what else runs there goes on."""
    lease_s = 120.0  # so its worker asks for it after 40 s
    gate = tmp_path / "gate"
    task = getattr(chores, function)
    with WorkerFleet(standalone, tmp_path, workers=2, lease=lease_s) as fleet:
        fleet.enqueue(task.call("neighbour", str(gate)), many=2)
        [handle] = fleet.enqueue(task.call("cancelled", str(tmp_path / "never")))
        eventually(lambda: len({run.key for run in fleet.history() if run.kind == "complete"}) == 3)
        eventually(lambda: lease_left_s(fleet, handle.task_id) > lease_s / 2)
        cancelled_elsewhere(fleet, handle.task_id)
        eventually(lambda: is_stopped(fleet, "cancelled"), lease_s / 4)
        with pytest.raises(TaskFailed) as caught:
            handle.result(timeout=30)
        assert caught.value.state == handle.status().state == "cancelled"
        fleet.places().check()
        gate.touch()
        fleet.drained(60)
        fleet.retire()
        assert fleet.completed() == {"neighbour.0", "neighbour.1"}
        assert len(fleet.runs("cancelled")) == 1
        assert handle.status().state == "cancelled"


def drop_notifications(proxy: Proxy, _: Server, task_id: str) -> Callable[[], bool]:
    fault = proxy.drop_pushes(1, match=task_id.encode())
    return lambda: fault.fired == 1


def cut_subscriptions(_: Proxy, server: Server, task_id: str) -> Callable[[], bool]:
    return lambda: server.execute("CLIENT", "KILL", "TYPE", "pubsub") >= 0


@pytest.mark.sampled(2)
@pytest.mark.parametrize("loss", [drop_notifications, cut_subscriptions])
@pytest.mark.parametrize("function", FUNCTIONS)
def test_a_cancellation_that_is_not_received_comes_with_the_next_renewal(
    standalone: Server,
    proxy: Proxy,
    tmp_path: Path,
    function: str,
    loss: Callable[[Proxy, Server, str], Callable[[], bool]],
) -> None:
    """The notification was lost, or the worker was not connected at that moment."""
    lease_s = 4.5  # so its worker asks for it after 1.5 s
    with WorkerFleet(standalone, tmp_path, workers=1, lease=lease_s, url=proxy.url) as fleet:
        [handle] = fleet.enqueue(getattr(chores, function).call("deaf", str(tmp_path / "never")))
        eventually(lambda: fleet.runs("deaf"))
        happened = loss(proxy, standalone, handle.task_id)
        if loss is cut_subscriptions:
            happened()
        with Holdfast.from_url(standalone.url, namespace=fleet.namespace) as direct:
            assert direct.queue(chores.QUEUE).handle(handle.task_id).cancel()
        eventually(lambda: is_stopped(fleet, "deaf"))
        assert happened()
        fleet.retire()
        assert handle.status().state == "cancelled"
        assert fleet.dead() == {}
        fleet.places().check()


@pytest.mark.sampled(2)
@pytest.mark.parametrize("function", FUNCTIONS)
def test_the_same_id_may_be_used_again_at_once(
    standalone: Server, proxy: Proxy, tmp_path: Path, function: str
) -> None:
    old_gate, new_gate = tmp_path / "old", tmp_path / "new"
    task = getattr(chores, function)
    with WorkerFleet(standalone, tmp_path, workers=1, lease=60.0, url=proxy.url) as fleet:
        [worker] = fleet.workers
        # With a delay, so that the worker claims it itself: its first renewal is 20 s away. A claim
        # that the producer made is renewed at once, perhaps twice, which would report the
        # cancellation.
        [old] = fleet.enqueue(task.call("old", str(old_gate)).options(task_id="sale", delay=0.05))
        eventually(lambda: fleet.runs("old"))
        assert lease_left_s(fleet, "sale") > 30
        deaf = proxy.drop_pushes(1, match=b"sale")
        assert old.cancel()
        [new] = fleet.enqueue(task.call("new", str(new_gate)).options(task_id="sale"))
        assert new.task_id == old.task_id
        eventually(lambda: fleet.runs("new"))
        deaf.wait()
        old_gate.touch()
        eventually(lambda: "old" in fleet.completed())
        worker.wait_for_output("after it was taken away; that does not count")
        assert new.status().state == "running"
        fleet.places().check()
        new_gate.touch()
        [run] = fleet.runs("new")
        assert new.result(timeout=20) == run.fields["token"]
        assert run.fields["token"] > fleet.runs("old")[0].fields["token"]
        fleet.drained(60)
        fleet.retire()
        assert worker.output.count("that does not count") == 1
        fleet.settled()


@pytest.mark.sampled(2)
@pytest.mark.parametrize("function", FUNCTIONS)
def test_the_same_id_runs_again_after_it_was_stopped(
    standalone: Server, tmp_path: Path, function: str
) -> None:
    """Cancelled and enqueued again at once, five times over; the last one may come to its end."""
    gate = tmp_path / "gate"
    task = getattr(chores, function)
    with WorkerFleet(standalone, tmp_path, workers=2, lease=60.0) as fleet:
        for n in range(5):
            call = task.call(f"cancelled-{n}", str(tmp_path / "never"))
            [handle] = fleet.enqueue(call.options(task_id="sale"))
            eventually(lambda n=n: fleet.runs(f"cancelled-{n}"))
            assert handle.cancel()
        [last] = fleet.enqueue(task.call("last", str(gate)).options(task_id="sale"))
        eventually(lambda: fleet.runs("last"))
        for n in range(5):
            eventually(lambda n=n: is_stopped(fleet, f"cancelled-{n}"))
        assert last.status().state == "running"
        gate.touch()
        assert last.result(timeout=20) == fleet.runs("last")[0].fields["token"]
        fleet.drained(60)
        fleet.retire()
        assert fleet.completed() == {"last"}
        assert fleet.dead() == {}
