"""A task that blocks the event loop costs no lease, and is named in the log."""

import re
from pathlib import Path

from faults.servers import Server
from faults.waiting import eventually
from holdfast.queues import keys
from queues.faults import chores
from queues.faults.worker_fleet import WorkerFleet

LEASE_S = 6.0  # renewed after two seconds


def test_a_task_that_blocks_the_loop_costs_no_lease(standalone: Server, tmp_path: Path) -> None:
    gate, enough = tmp_path / "gate", tmp_path / "enough"
    with WorkerFleet(standalone, tmp_path, workers=2, lease=LEASE_S) as fleet:
        blocked, other = fleet.workers
        other.stop()
        fleet.enqueue(chores.waits_on_the_loop.call("neighbour", str(gate)), many=3)
        fleet.enqueue(chores.waits.call("in-a-thread", str(gate)), many=3)
        eventually(lambda: len(begun := fleet.history()) >= 7 and begun)
        [handle] = fleet.enqueue(chores.blocks.call("blocks", str(enough)))
        eventually(lambda: fleet.runs("blocks"))
        before = leases(fleet)
        other.start()
        eventually(lambda: f":{other.pid}:" in other.output)  # it serves, and finds nothing
        blocked.wait_for_output("has blocked the event loop")
        eventually(lambda: all(leases(fleet)[task] > at for task, at in before.items()))
        enough.touch()
        eventually(lambda: "blocks" in fleet.completed())
        gate.touch()
        fleet.drained(60)
        fleet.retire()
        runs = [run for run in fleet.history() if run.kind == "complete"]
        assert len(runs) == 7
        assert all(run.process.endswith(f":{blocked.pid}") for run in runs)
        [warning] = re.findall(r".*has blocked the event loop.*", blocked.output)
        assert "WARNING" in warning
        assert f"task {handle.task_id} of queue 'chores' has blocked" in warning
        assert re.search(r"at \S*chores\.py:\d+ in blocks: ", warning)
        assert "has blocked" not in other.output
        assert "lost its lease" not in blocked.output
        fleet.settled()


def leases(fleet: WorkerFleet) -> dict[bytes, float]:
    return dict(fleet.raw.zrange(keys.leases(fleet.unit), 0, -1, withscores=True))
