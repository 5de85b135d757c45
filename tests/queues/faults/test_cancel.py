"""A running task is cancelled by another process: at once, and its end does not count."""

from collections.abc import Callable
from pathlib import Path

import pytest

from faults.proxy import Proxy
from faults.servers import Server
from faults.waiting import eventually
from holdfast import Holdfast, TaskFailed, TaskHandle
from queues.faults import chores
from queues.faults.crew import Crew

FUNCTIONS = ["waits", "waits_on_the_loop"]


def is_stopped(crew: Crew, key: str) -> bool:
    """Return whether the only execution of a task was stopped before its end."""
    [run] = crew.runs(key)
    assert run.outcome != "ok"
    return run.return_ns is not None


def cancelled_elsewhere(crew: Crew, task_id: str) -> TaskHandle[int]:
    """Cancel a task as another process does: it knows its id."""
    with crew.client() as stranger:
        handle = stranger.queue(chores.QUEUE).handle(task_id)
        assert handle.cancel() is True
        assert handle.cancel() is False
        assert handle.status().state == "cancelled"
    return handle


@pytest.mark.parametrize("function", FUNCTIONS)
def test_a_running_task_is_stopped_at_once(
    standalone: Server, tmp_path: Path, function: str
) -> None:
    """Long before its worker would ask for its lease; what else runs there goes on."""
    lease_s = 120.0  # so its worker asks for it after 40 s
    gate = tmp_path / "gate"
    task = getattr(chores, function)
    with Crew(standalone, tmp_path, workers=2, lease=lease_s) as crew:
        crew.enqueue(task.call("neighbour", str(gate)), many=2)
        [handle] = crew.enqueue(task.call("cancelled", str(tmp_path / "never")))
        eventually(lambda: len({run.key for run in crew.history() if run.kind == "complete"}) == 3)
        cancelled_elsewhere(crew, handle.task_id)
        eventually(lambda: is_stopped(crew, "cancelled"), lease_s / 4)
        with pytest.raises(TaskFailed) as caught:
            handle.result(timeout=30)
        assert caught.value.state == handle.status().state == "cancelled"
        crew.places().check()
        gate.touch()
        crew.drained(60)
        crew.retire()
        assert crew.completed() == {"neighbour.0", "neighbour.1"}
        assert len(crew.runs("cancelled")) == 1
        assert handle.status().state == "cancelled"


def drop_rings(proxy: Proxy, _: Server, task_id: str) -> Callable[[], bool]:
    fault = proxy.drop_pushes(1, match=task_id.encode())
    return lambda: fault.fired == 1


def cut_subscriptions(_: Proxy, server: Server, task_id: str) -> Callable[[], bool]:
    return lambda: server.execute("CLIENT", "KILL", "TYPE", "pubsub") >= 0


@pytest.mark.parametrize("loss", [drop_rings, cut_subscriptions])
@pytest.mark.parametrize("function", FUNCTIONS)
def test_a_cancellation_that_is_not_heard_comes_with_the_next_renewal(
    standalone: Server,
    proxy: Proxy,
    tmp_path: Path,
    function: str,
    loss: Callable[[Proxy, Server, str], Callable[[], bool]],
) -> None:
    """The ring was lost, or the worker was not connected at that moment."""
    lease_s = 4.5  # so its worker asks for it after 1.5 s
    with Crew(standalone, tmp_path, workers=1, lease=lease_s, url=proxy.url) as crew:
        [handle] = crew.enqueue(getattr(chores, function).call("deaf", str(tmp_path / "never")))
        eventually(lambda: crew.runs("deaf"))
        happened = loss(proxy, standalone, handle.task_id)
        if loss is cut_subscriptions:
            happened()
        with Holdfast.from_url(standalone.url, namespace=crew.namespace) as direct:
            assert direct.queue(chores.QUEUE).handle(handle.task_id).cancel()
        eventually(lambda: is_stopped(crew, "deaf"))
        assert happened()
        crew.retire()
        assert handle.status().state == "cancelled"
        assert crew.dead() == {}
        crew.places().check()


@pytest.mark.parametrize("function", FUNCTIONS)
def test_the_same_id_may_be_used_again_at_once(
    standalone: Server, proxy: Proxy, tmp_path: Path, function: str
) -> None:
    old_gate, new_gate = tmp_path / "old", tmp_path / "new"
    task = getattr(chores, function)
    with Crew(standalone, tmp_path, workers=1, lease=60.0, url=proxy.url) as crew:
        [worker] = crew.workers
        [old] = crew.enqueue(task.call("old", str(old_gate)).options(task_id="sale"))
        eventually(lambda: crew.runs("old"))
        deaf = proxy.drop_pushes(1, match=b"sale")
        assert old.cancel()
        [new] = crew.enqueue(task.call("new", str(new_gate)).options(task_id="sale"))
        assert new.task_id == old.task_id
        eventually(lambda: crew.runs("new"))
        deaf.wait()
        old_gate.touch()
        eventually(lambda: "old" in crew.completed())
        worker.wait_for_output("after it was taken away; that does not count")
        assert new.status().state == "running"
        crew.places().check()
        new_gate.touch()
        [run] = crew.runs("new")
        assert new.result(timeout=20) == run.fields["token"]
        assert run.fields["token"] > crew.runs("old")[0].fields["token"]
        crew.drained(60)
        crew.retire()
        assert worker.output.count("that does not count") == 1
        crew.settled()


@pytest.mark.parametrize("function", FUNCTIONS)
def test_the_same_id_runs_again_after_it_was_stopped(
    standalone: Server, tmp_path: Path, function: str
) -> None:
    """Cancelled and enqueued again at once, five times over; the last one may come to its end."""
    gate = tmp_path / "gate"
    task = getattr(chores, function)
    with Crew(standalone, tmp_path, workers=2, lease=60.0) as crew:
        for n in range(5):
            call = task.call(f"cancelled-{n}", str(tmp_path / "never"))
            [handle] = crew.enqueue(call.options(task_id="sale"))
            eventually(lambda n=n: crew.runs(f"cancelled-{n}"))
            assert handle.cancel()
        [last] = crew.enqueue(task.call("last", str(gate)).options(task_id="sale"))
        eventually(lambda: crew.runs("last"))
        for n in range(5):
            eventually(lambda n=n: is_stopped(crew, f"cancelled-{n}"))
        assert last.status().state == "running"
        gate.touch()
        assert last.result(timeout=20) == crew.runs("last")[0].fields["token"]
        crew.drained(60)
        crew.retire()
        assert crew.completed() == {"last"}
        assert crew.dead() == {}
