"""How many finished tasks run again after a kill: at most as many as `ack` allows."""

import random
import time
from collections import Counter
from pathlib import Path

import pytest

from faults.servers import Server
from faults.waiting import eventually
from queues.faults import chores
from queues.faults.worker_fleet import WorkerFleet

LEASE_S = 1.0
CONCURRENCY = 8
BATCH = 32  # finished tasks that are settled in one step, unless each is settled at once
DRAINED_S = 60.0

TASKS = {
    "now": (chores.acks_at_once, CONCURRENCY),
    "now, in threads": (chores.acks_at_once_in_a_thread, CONCURRENCY),
    "batched": (chores.on_the_loop, BATCH + CONCURRENCY),
}


def finished_and_run_again(fleet: WorkerFleet) -> dict[str, int]:
    """Return by process how many of its finished tasks a later process started again."""
    runs = [run for run in fleet.history() if run.kind == "complete"]
    last = {run.key: run for run in runs}  # they are in the order in which they began
    repeated: Counter[str] = Counter()
    for run in runs:
        if run.outcome == "ok" and last[run.key] is not run:
            repeated[run.process] += 1
    return dict(repeated)


def killed_often(server: Server, folder: Path, seed: int, ack: str, kills: int, each: int) -> None:
    """Kill a worker at random moments while it runs many short tasks."""
    choices = random.Random(seed)
    task, bound = TASKS[ack]
    with WorkerFleet(server, folder, workers=1, lease=LEASE_S, concurrency=CONCURRENCY) as fleet:
        [worker] = fleet.workers
        for kill in range(kills):
            worker.start()
            if fleet.hf.queue(chores.QUEUE).stats().ready < each:
                fleet.enqueue(task.call(f"short-{kill}"), many=each)
            done = len(fleet.completed())
            eventually(lambda done=done: len(fleet.completed()) > done, 30)
            time.sleep(choices.uniform(0, 0.1))
            worker.kill()
        worker.start()
        fleet.drained(DRAINED_S)
        fleet.retire()
        repeated = finished_and_run_again(fleet)
        print(f"{ack}, seed {seed}: finished tasks that each kill repeated: {repeated}")
        assert all(count <= bound for count in repeated.values())
        assert len(repeated) <= kills
        assert fleet.dead() == {}  # no task is claimed so often that it becomes a poison task
        counts = fleet.settled()
        assert counts.completed == counts.acknowledged


@pytest.mark.parametrize("ack", ["now", pytest.param("batched", marks=pytest.mark.long)])
def test_a_kill_repeats_no_more_than_is_promised(
    standalone: Server, tmp_path: Path, seed: int, ack: str
) -> None:
    killed_often(standalone, tmp_path, seed, ack, kills=2, each=1000)


@pytest.mark.long
@pytest.mark.parametrize("part", range(10))
@pytest.mark.parametrize("ack", TASKS)
def test_no_kill_of_many_repeats_more(
    standalone: Server, tmp_path: Path, seed: int, ack: str, part: int
) -> None:
    killed_often(standalone, tmp_path, seed + part, ack, kills=10, each=1500)
