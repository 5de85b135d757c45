"""A task that blocks the event loop costs no lease, and is named in the log."""

import re
from pathlib import Path

from faults.servers import Server
from faults.waiting import eventually
from holdfast.queues import keys
from queues.faults import chores
from queues.faults.crew import Crew

LEASE_S = 6.0  # renewed after two seconds


def test_a_task_that_blocks_the_loop_costs_no_lease(standalone: Server, tmp_path: Path) -> None:
    gate, enough = tmp_path / "gate", tmp_path / "enough"
    with Crew(standalone, tmp_path, workers=2, lease=LEASE_S) as crew:
        blocked, other = crew.workers
        other.stop()
        crew.enqueue(chores.waits_on_the_loop.call("neighbour", str(gate)), many=3)
        crew.enqueue(chores.waits.call("in-a-thread", str(gate)), many=3)
        eventually(lambda: len(begun := crew.history()) >= 7 and begun)
        [handle] = crew.enqueue(chores.blocks.call("blocks", str(enough)))
        eventually(lambda: crew.runs("blocks"))
        before = leases(crew)
        other.start()
        eventually(lambda: f":{other.pid}:" in other.output)  # it serves, and finds nothing
        blocked.wait_for_output("has blocked the event loop")
        eventually(lambda: all(leases(crew)[task] > at for task, at in before.items()))
        enough.touch()
        eventually(lambda: "blocks" in crew.completed())
        gate.touch()
        crew.drained(60)
        crew.retire()
        runs = [run for run in crew.history() if run.kind == "complete"]
        assert len(runs) == 7
        assert all(run.process.endswith(f":{blocked.pid}") for run in runs)
        [warning] = re.findall(r".*has blocked the event loop.*", blocked.output)
        assert "WARNING" in warning
        assert f"task {handle.task_id} of queue 'chores' has blocked" in warning
        assert re.search(r"at \S*chores\.py:\d+ in blocks: ", warning)
        assert "has blocked" not in other.output
        assert "lost its lease" not in blocked.output
        crew.settled()


def leases(crew: Crew) -> dict[bytes, float]:
    return dict(crew.raw.zrange(keys.leases(crew.unit), 0, -1, withscores=True))
