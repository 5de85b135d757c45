"""Tasks that kill their workers are dead-lettered; tasks that ran beside them are not."""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from conftest import Site
from faults.servers import Server
from faults.waiting import eventually
from holdfast import Holdfast, TaskRegistry
from holdfast.core.names import Namespace
from holdfast.queues import keys
from queues.faults import chores
from queues.faults.queue_snapshot import let_leases_end
from queues.faults.test_stale_workers import ManualWorker, note
from queues.faults.worker_fleet import WorkerFleet

LEASE_S = 1.0
AGAIN_S = LEASE_S + 30.0  # the tasks of a killed worker run again by then, on slow machines too
INNOCENTS = 30


class ControlFiles:
    """Files that decide how long tasks wait, and when their workers die."""

    def __init__(self, folder: Path) -> None:
        self.gate = folder / "gate"
        self.killing = folder / "kill"

    def open(self) -> None:
        """Let the innocent tasks end, whenever they run."""
        self.gate.touch()

    def kill(self, attempt: int) -> None:
        """Let the killers end their worker in that attempt."""
        Path(f"{self.killing}.{attempt}").touch()


def enqueue_together(
    fleet: WorkerFleet, control: ControlFiles, killers: int, innocents: int = INNOCENTS
) -> None:
    """Enqueue killers between innocent tasks."""
    half = innocents // 2
    fleet.enqueue(chores.waits_on_the_loop.call("innocent-a", str(control.gate)), many=half)
    for n in range(killers):
        fleet.enqueue(chores.deadly_in_turn.call(f"deadly-{n}", str(control.killing)))
    rest = innocents - half
    fleet.enqueue(chores.waits_on_the_loop.call("innocent-b", str(control.gate)), many=rest)


def begun(fleet: WorkerFleet) -> dict[str, int]:
    """Return how often each task was started."""
    counts: dict[str, int] = {}
    for run in fleet.history():
        if run.kind == "complete":
            counts[run.key] = counts.get(run.key, 0) + 1
    return counts


@contextmanager
def restarted(fleet: WorkerFleet) -> Iterator[None]:
    """Start workers again that died, as long as the block lasts."""
    over = threading.Event()

    def watch() -> None:
        while not over.wait(0.05):
            for worker in fleet.workers:
                worker.start()

    thread = threading.Thread(target=watch, name="supervisor", daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


@pytest.mark.parametrize("killers", [pytest.param(1, marks=pytest.mark.long), 2])
def test_innocent_tasks_that_were_claimed_with_a_killer_live(
    standalone: Server, tmp_path: Path, killers: int
) -> None:
    control = ControlFiles(tmp_path)
    everyone = INNOCENTS + killers
    with WorkerFleet(standalone, tmp_path, workers=1, lease=4.0, concurrency=50) as fleet:
        [worker] = fleet.workers
        worker.stop()
        enqueue_together(fleet, control, killers)
        for life in (1, 2):
            worker.start()
            eventually(
                lambda life=life: list(begun(fleet).values()) == [life] * everyone,
                AGAIN_S,
                reason=f"all {everyone} run at once, for the {life}. time",
            )
            assert fleet.hf.queue(chores.QUEUE).stats().running == everyone
            control.kill(life)
            worker.wait(60)
            assert worker.returncode == -9
            let_leases_end(fleet.raw, fleet.unit)
        control.open()
        control.kill(3)
        with restarted(fleet):
            fleet.drained(60)
        fleet.retire()
        assert set(fleet.dead()) == {f"deadly-{n}" for n in range(killers)}
        assert all(task.reason.startswith("crashed: 3 ") for task in fleet.dead().values())
        assert len(fleet.completed()) == INNOCENTS
        assert max(begun(fleet).values()) == 3
        fleet.settled()


@pytest.mark.long
def test_only_the_killer_is_dead_with_several_workers(standalone: Server, tmp_path: Path) -> None:
    with WorkerFleet(standalone, tmp_path, workers=3, lease=LEASE_S, concurrency=50) as fleet:
        with restarted(fleet):
            fleet.enqueue(chores.on_the_loop.call("innocent-a", 1.0), many=INNOCENTS // 2)
            fleet.enqueue(chores.deadly.call("deadly", 0.2))
            fleet.enqueue(chores.plain.call("innocent-b", 0.5), many=INNOCENTS // 2)
            fleet.drained(60)
        fleet.retire()
        assert set(fleet.dead()) == {"deadly"}
        assert len(fleet.runs("deadly")) == 3
        assert len(fleet.completed()) == INNOCENTS
        fleet.settled()


@pytest.mark.long
def test_a_killer_that_comes_late_costs_two_poison_tasks_at_most(
    standalone: Server, tmp_path: Path
) -> None:
    """The documented limit: it is no poison task yet, and kills the worker that runs one.

    It does so twice; then it is a poison task itself, and runs alone. Its victims are replayed.
    """
    first, second = ControlFiles(tmp_path), ControlFiles(tmp_path)
    second.killing = tmp_path / "late"
    with WorkerFleet(standalone, tmp_path, workers=1, lease=LEASE_S, concurrency=50) as fleet:
        [worker] = fleet.workers
        worker.stop()
        enqueue_together(fleet, first, 1)
        for life in (1, 2):
            worker.start()
            everyone = [life] * (INNOCENTS + 1)
            eventually(lambda ran=everyone: list(begun(fleet).values()) == ran, AGAIN_S)
            first.kill(life)
            worker.wait(10)
        fleet.enqueue(chores.deadly_in_turn.call("deadly-late", str(second.killing)))
        for life in (1, 2):  # each time beside one poison task, which is in the middle of its work
            worker.start()
            eventually(
                lambda life=life: (
                    begun(fleet).get("deadly-late") == life
                    and list(begun(fleet).values()).count(3) == life
                    and fleet.hf.queue(chores.QUEUE).stats().running == 2
                ),
                AGAIN_S,
                reason=f"the late killer runs for the {life}. time, and one poison task beside it",
            )
            second.kill(life)
            worker.wait(10)
        first.open()
        first.kill(3)
        second.kill(3)
        with restarted(fleet):
            fleet.drained(60)
        victims = set(fleet.dead()) - {"deadly-0", "deadly-late"}
        print(f"a second killer took {len(victims)} of {INNOCENTS} along")
        assert len(victims) <= 2
        assert set(fleet.dead()) >= {"deadly-late"}
        ids = [task.task_id for key, task in fleet.dead().items() if key in victims]
        assert fleet.hf.queue(chores.QUEUE).replay(ids) == len(victims)
        fleet.drained(60)
        assert len([key for key in fleet.completed() if key.startswith("innocent")]) == INNOCENTS
        fleet.retire()
        fleet.settled()


quick = TaskRegistry()
ran: list[str] = []
hold = threading.Event()


@quick.task(queue="work", name="note")
def takes_long() -> None:
    ran.append("poison")
    hold.wait(60)


@quick.task(queue="work")
def innocent() -> None:
    ran.append("innocent")


def make_poison_tasks(site: Site, hf: Holdfast, count: int) -> None:
    """Make tasks that have lost two workers, as a killed worker of high concurrency leaves them.

    One with 600 places was killed twice; it makes steps of 256 at most.
    """
    hf.enqueue_many([note.call() for _ in range(count)])
    for _ in range(2):
        lost, other, claims = ManualWorker(site), ManualWorker(site), 0
        while claims < count:
            claims += len(lost.step(256)[1])
        let_leases_end(site.client, Namespace.of(site.namespace).unit(keys.KIND, "work"))
        eventually(lambda other=other: other.step(0) and hf.queue("work").stats().running == 0)
    assert hf.queue("work").stats().dead == 0


@pytest.mark.parametrize(
    "count",
    [
        pytest.param(100, marks=pytest.mark.long),
        600,
    ],
)
def test_a_worker_with_a_poison_task_does_not_starve_others_nor_spin(
    standalone: Server, count: int
) -> None:
    ran.clear()
    hold.clear()
    namespace = f"poison-{count}-{time.monotonic_ns()}"
    with (
        standalone.client() as client,
        Holdfast.from_url(standalone.url, namespace=namespace) as hf,
    ):
        make_poison_tasks(Site(standalone.url, namespace, standalone, client), hf, count)
        hf.enqueue(innocent.call())
        worker = hf.worker(quick, concurrency=50)
        thread = threading.Thread(target=worker.run)
        thread.start()
        try:
            eventually(lambda: {"poison", "innocent"} <= set(ran))
            before = steps(client)
            time.sleep(1.0)
            assert ran.count("poison") == 1
            assert steps(client) - before < 100  # one that spins makes many hundreds
            assert ran.count("innocent") == 1
        finally:
            worker.stop(grace=0)
            hold.set()
            thread.join()
            hf.queue("work").purge()


def steps(client: object) -> int:
    """Scripts that the server has run so far."""
    return int(client.info("commandstats").get("cmdstat_evalsha", {}).get("calls", 0))  # type: ignore[attr-defined]
