"""Functions that outlive their timeout: stopped if that can be; their place is not given away."""

import os
from collections.abc import Iterable
from pathlib import Path

import pytest

from faults.history import Operation
from faults.servers import Server
from faults.waiting import eventually
from queues.faults import chores
from queues.faults.worker_fleet import WorkerFleet

LEASE_S = 60.0
FOR_EVER_S = 300.0  # longer than any test


def a_pipe(folder: Path) -> str:
    path = folder / "pipe"
    os.mkfifo(path)
    return str(path)


def release(pipe: str) -> None:
    os.close(os.open(pipe, os.O_WRONLY))


def most_at_once(runs: Iterable[Operation]) -> int:
    """Return the largest number of executions at one moment."""
    moments: list[tuple[float, int]] = []
    for run in runs:
        if run.kind == "complete":
            moments.append((run.invoke_ns, 1))
            moments.append((run.return_ns or float("inf"), -1))
    running = most = 0
    for _, change in sorted(moments):
        running += change
        most = max(most, running)
    return most


@pytest.mark.parametrize("function", ["endless", "endless_on_the_loop"])
def test_an_endless_task_is_stopped_at_its_timeout(
    standalone: Server, tmp_path: Path, function: str
) -> None:
    """A loop in Python, or a coroutine: in every attempt, and it is really over then."""
    with WorkerFleet(standalone, tmp_path, workers=1, lease=LEASE_S, concurrency=4) as fleet:
        handles = fleet.enqueue(getattr(chores, function).call("endless"), many=6)
        fleet.drained(60)
        assert set(fleet.dead()) == {f"endless.{n}" for n in range(6)}
        for handle in handles:
            assert handle.status().reason.startswith("failed: TimeoutError: it took longer")
            assert handle.status().attempts == 2
        runs = [run for run in fleet.history() if run.kind == "complete"]
        assert len(runs) <= 12  # on a slow machine the time of one may be over before it begins
        eventually(lambda: all(run.return_ns for run in fleet.history()))
        assert most_at_once(runs) <= 4
        fleet.enqueue(chores.plain.call("later"), many=4)  # the places are free again
        eventually(lambda: len(fleet.completed()) == 4)
        fleet.retire()


def test_a_thread_that_hangs_keeps_its_slot(standalone: Server, tmp_path: Path) -> None:
    """Its task is dead in time all the same; what is left of the places goes on being used."""
    pipe, gate = a_pipe(tmp_path), tmp_path / "gate"
    with WorkerFleet(standalone, tmp_path, workers=1, lease=LEASE_S, concurrency=3) as fleet:
        fleet.enqueue(chores.stuck.call("stuck", pipe), many=2)
        eventually(lambda: fleet.runs("stuck.0") and fleet.runs("stuck.1"))
        fleet.enqueue(chores.plain.call("plain", 0.05), many=15)
        fleet.enqueue(chores.on_the_loop.call("loop", 0.05), many=15)
        fleet.drained(60)
        assert set(fleet.dead()) == {"stuck.0", "stuck.1"}
        hanging = [run for n in range(2) for run in fleet.runs(f"stuck.{n}")]
        assert [run.return_ns for run in hanging] == [None, None]
        release(pipe)
        eventually(lambda: all(run.return_ns for run in fleet.history()))
        assert most_at_once(fleet.history()) == 3
        fleet.enqueue(chores.waits.call("later", str(gate)), many=3)
        eventually(lambda: all(fleet.runs(f"later.{n}") for n in range(3)))
        gate.touch()
        fleet.drained(60)
        later = [run for run in fleet.history() if run.key.startswith("later")]
        assert most_at_once(later) == 3  # all places are free again
        assert most_at_once(fleet.history()) == 3
        fleet.retire()
        fleet.settled()


def test_with_all_slots_hanging_nothing_more_is_begun(standalone: Server, tmp_path: Path) -> None:
    pipe = a_pipe(tmp_path)
    with WorkerFleet(standalone, tmp_path, workers=2, lease=LEASE_S, concurrency=2) as fleet:
        hung, other = fleet.workers
        other.stop()
        fleet.enqueue(chores.stuck.call("stuck", pipe), many=2)
        eventually(lambda: len(fleet.dead()) == 2)
        assert all(fleet.runs(f"stuck.{n}") for n in range(2))
        fleet.enqueue(chores.plain.call("waits"), many=5)
        eventually(lambda: fleet.hf.queue(chores.QUEUE).stats().ready == 5)
        other.start()
        eventually(lambda: len(fleet.completed()) == 5)
        runs = [run for n in range(5) for run in fleet.runs(f"waits.{n}")]
        assert all(run.process.endswith(f":{other.pid}") for run in runs)
        fleet.drained(60)
        fleet.retire()  # though the threads hang
        assert hung.returncode == 0
        assert most_at_once(fleet.history()) <= 4  # two that hang, and two of the other worker
        fleet.settled()


def test_a_thread_that_hangs_does_not_keep_its_worker_from_ending(
    standalone: Server, tmp_path: Path
) -> None:
    """It has no timeout, and is given back after the grace, with no attempt spent."""
    with WorkerFleet(standalone, tmp_path, workers=1, lease=LEASE_S, grace=0.5) as fleet:
        [handle] = fleet.enqueue(chores.plain.call("hangs", FOR_EVER_S))
        eventually(lambda: fleet.runs("hangs"))
        fleet.retire()
        status = handle.status()
        assert (status.state, status.attempts, status.crashes) == ("queued", 0, 0)
        fleet.places().check()
