"""Test `holdfast worker --processes`: a supervisor and its processes, killed and stopped."""

from __future__ import annotations

import os
import re
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from cli.process_tasks import QUEUE, blocks, computes, leaks, pid, waits
from cli.programs import CTRL_C, Terminal
from faults.processes import Process
from faults.servers import Server
from faults.waiting import eventually
from holdfast import Holdfast, TaskHandle, WorkerStatus
from holdfast.cli.supervisor.role import LATE_S

LEASE_S = 1.0


class WorkerProcesses:
    """A supervisor with its processes, on a namespace of its own.

    Args:
        server: where the queue is.
        folder: for the notes of the tasks; its name is the namespace.
    """

    def __init__(self, server: Server, folder: Path) -> None:
        self.url = server.url
        self.namespace = folder.name
        self.notes = folder / "notes"
        self.gate = folder / "gate"
        self.breaks = folder / "breaks"
        self.hf = Holdfast.from_url(server.url, namespace=folder.name)
        self.seen: set[int] = set()

    def process(self, *options: str, target: str = "cli.process_tasks:tasks") -> Process:
        """Return the supervisor, not started yet."""
        about = ("--url", self.url, "--namespace", self.namespace, "--lease", str(LEASE_S))
        env = {"PROCESS_BREAKS": str(self.breaks)}
        argv = ("-m", "holdfast", "worker", target, *about, *options)
        return Process.python(*argv, name="supervisor", env=env)

    def workers(self, count: int) -> list[WorkerStatus]:
        """Wait until so many live workers are listed, and return them."""
        alive: list[WorkerStatus] = []

        def are_there() -> bool:
            alive[:] = [each for each in self.hf.workers() if is_running(pid_of(each))]
            self.seen.update(map(pid_of, alive))
            return len(alive) == count

        eventually(are_there, reason=f"{count} workers")
        return alive

    def waiting(self, count: int = 1) -> list[TaskHandle[int]]:
        """Enqueue tasks that wait for the gate, and return once they have begun."""
        before = len(self.noted())
        calls = [waits.call(str(self.notes), str(self.gate)) for _ in range(count)]
        handles = self.hf.enqueue_many(calls)
        eventually(lambda: len(self.noted()) == before + count)
        return handles

    def noted(self) -> list[str]:
        """Return what the tasks have noted."""
        return self.notes.read_text().split("\n")[:-1] if self.notes.exists() else []

    def noted_pids(self) -> list[int]:
        """Return the first number of each note."""
        return [int(line.split()[0]) for line in self.noted()]

    def all_ended(self) -> None:
        """Wait until no process is left that was ever seen."""
        eventually(lambda: not any(map(is_running, self.seen)), reason="no process is left")


def pid_of(worker: WorkerStatus) -> int:
    """Return the process id that is part of the name."""
    return int(worker.name.split(":")[1])


def is_running(process: int) -> bool:
    """Return whether there is such a process, and more than its exit code is left of it."""
    try:
        return "State:\tZ" not in Path(f"/proc/{process}/status").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return False


@pytest.fixture
def processes(standalone: Server, tmp_path: Path) -> Iterator[WorkerProcesses]:
    """Yield worker processes; none of them is left after the test."""
    processes = WorkerProcesses(standalone, tmp_path)
    with processes.hf:
        yield processes
        processes.all_ended()


def test_processes_share_the_queue_and_drain_at_sigterm(processes: WorkerProcesses) -> None:
    """List each worker with its group, finish what runs, exit with code 0."""
    with processes.process("--processes", "2", "--concurrency", "1") as supervisor:
        workers = processes.workers(2)
        assert {re.sub(".*:", "", each.group) for each in workers} == {str(supervisor.pid)}
        assert all(each.memory > 10**6 for each in workers)
        handles = processes.waiting(2)
        supervisor.terminate()
        supervisor.wait_for_output("stops: the tasks of 2 processes have 25 s to finish")
        processes.gate.touch()
        assert supervisor.wait() == 0
        results = {handle.result(timeout=0) for handle in handles}
        assert results == {pid_of(each) for each in workers}
    assert processes.hf.workers() == []


@pytest.mark.long
def test_a_second_signal_gives_back_what_runs(processes: WorkerProcesses) -> None:
    """The supervisor then ends by this signal, as a single worker does."""
    with processes.process("--processes", "2") as supervisor:
        processes.workers(2)
        [handle] = processes.waiting()
        supervisor.terminate()
        supervisor.wait_for_output("stops:")
        supervisor.terminate()
        assert supervisor.wait() == -signal.SIGTERM
    status = handle.status()
    assert (status.state, status.attempts, status.crashes) == ("queued", 0, 0)


@pytest.mark.long
def test_ctrl_c_on_a_terminal_reaches_the_processes_once(processes: WorkerProcesses) -> None:
    """A terminal sends SIGINT to its whole foreground group; twice would give tasks back."""
    about = ("--url", processes.url, "--namespace", processes.namespace, "--processes", "2")
    path = f"{Path(__file__).parents[1]}"
    with Terminal("worker", "cli.process_tasks:tasks", *about, PYTHONPATH=path) as terminal:
        processes.workers(2)
        [handle] = processes.waiting()
        terminal.say(CTRL_C)
        terminal.expect("stops: the tasks of 2 processes")
        processes.gate.touch()
        assert terminal.code() == 0
    assert handle.status().attempts == 1
    assert handle.status().state == "done"


@pytest.mark.long
def test_signals_for_every_process_drain_all_the_same(processes: WorkerProcesses) -> None:
    """A service manager may send SIGTERM to each process of a service."""
    with processes.process("--processes", "2") as supervisor:
        workers = processes.workers(2)
        handles = processes.waiting(2)
        supervisor.terminate()
        for each in workers:
            os.kill(pid_of(each), signal.SIGTERM)
        supervisor.wait_for_output("stops:")
        processes.gate.touch()
        assert supervisor.wait() == 0
    assert {handle.status().state for handle in handles} == {"done"}
    assert {handle.status().attempts for handle in handles} == {1}


def test_a_killed_process_is_started_again_and_its_task_runs_again(
    processes: WorkerProcesses,
) -> None:
    """The other process goes on meanwhile."""
    with processes.process("--processes", "2", "--concurrency", "1") as supervisor:
        processes.workers(2)
        handles = processes.waiting(2)
        [first, second] = processes.noted_pids()
        os.kill(first, signal.SIGKILL)
        supervisor.wait_for_output(f"(pid {first}) was ended by SIGKILL; the next one starts in")
        eventually(lambda: len(processes.noted()) == 3, LEASE_S + 30.0)
        assert processes.noted_pids()[2] not in (first, second)
        processes.workers(2)
        processes.gate.touch()
        eventually(lambda: all(handle.status().state == "done" for handle in handles))
        assert sorted(handle.status().attempts for handle in handles) == [1, 2]
        assert supervisor.stop() == 0


@pytest.mark.long
def test_a_process_that_ends_by_itself_is_started_again(processes: WorkerProcesses) -> None:
    """Such as one that an administrator has sent SIGTERM."""
    with processes.process("--processes", "1", "--max-tasks", "1000") as supervisor:
        [before] = processes.workers(1)
        os.kill(pid_of(before), signal.SIGTERM)
        supervisor.wait_for_output("ended with exit code 0; the next one starts in")
        eventually(lambda: not is_running(pid_of(before)))
        assert processes.workers(1) != [before]
        assert supervisor.stop() == 0


def test_processes_drain_when_their_supervisor_is_killed(processes: WorkerProcesses) -> None:
    """What runs finishes, and is not run again; then no process is left."""
    with processes.process("--processes", "2", "--concurrency", "1") as supervisor:
        processes.workers(2)
        handles = processes.waiting(2)
        supervisor.kill()
        noticed = "the supervisor of this process has vanished"
        eventually(lambda: supervisor.output.count(noticed) == 2)
        late = processes.hf.enqueue(pid.call())
        processes.gate.touch()
        processes.all_ended()
        assert {handle.status().state for handle in handles} == {"done"}
        assert {handle.status().attempts for handle in handles} == {1}
        assert late.status().state == "queued"


@pytest.mark.long
def test_a_killed_supervisor_leaves_no_process_that_just_starts(processes: WorkerProcesses) -> None:
    """A process that imports its tasks notices it afterwards."""
    with processes.process("--processes", "2") as supervisor:
        supervisor.wait_for_output("supervisor")
        group = eventually(lambda: children_of(supervisor.pid))
        processes.seen.update(group)
        supervisor.kill()
        processes.all_ended()


@pytest.mark.long
def test_after_all_processes_were_killed_nothing_is_lost(processes: WorkerProcesses) -> None:
    """The tasks run again within the lease and five seconds, under a new supervisor."""
    with processes.process("--processes", "2", "--concurrency", "1") as supervisor:
        workers = processes.workers(2)
        handles = processes.waiting(2)
        supervisor.kill()
        for each in workers:
            os.kill(pid_of(each), signal.SIGKILL)
        processes.all_ended()
        supervisor.start()
        eventually(lambda: len(processes.noted()) == 4, LEASE_S + 30.0)
        processes.gate.touch()
        assert {handle.result(timeout=60) for handle in handles} == set(processes.noted_pids()[2:])
        processes.workers(2)
        assert supervisor.stop() == 0


@pytest.mark.long
def test_children_of_a_process_end_with_all_of_them(processes: WorkerProcesses) -> None:
    """A CPU-bound task has a process of its own below each worker process."""
    with processes.process("--processes", "1", "--max-tasks", "1000") as supervisor:
        [worker] = processes.workers(1)
        handle = processes.hf.enqueue(computes.call(str(processes.notes), str(processes.gate)))
        [child] = eventually(processes.noted_pids)
        processes.seen.add(child)
        os.kill(pid_of(worker), signal.SIGKILL)
        eventually(lambda: not is_running(child))
        eventually(lambda: len(processes.noted()) == 2, LEASE_S + 30.0)
        processes.gate.touch()
        [worker] = processes.workers(1)
        assert handle.result(timeout=60) == pid_of(worker)
        assert handle.status().attempts == 2
        processes.seen.update(processes.noted_pids())
        supervisor.kill()


@pytest.mark.parametrize(
    ("target", "code", "text"),
    [
        pytest.param("cli.process_tasks:nothing", 2, "has no 'nothing'", marks=pytest.mark.long),
        pytest.param(
            "cli.missing:tasks", 2, "there is no module 'cli.missing'", marks=pytest.mark.long
        ),
        ("cli.process_tasks:tasks", 1, "the disk is full"),
    ],
)
def test_what_cannot_start_ends_the_supervisor_with_one_error(
    processes: WorkerProcesses, target: str, code: int, text: str
) -> None:
    """The exit code is that of the first process; the others are not even started."""
    if code == 1:
        processes.breaks.touch()
    with processes.process("--processes", "3", target=target) as supervisor:
        assert supervisor.wait() == code
        [line] = [each for each in supervisor.output.split("\n") if each.startswith("holdfast: ")]
        assert text in line
        assert "starts in" not in supervisor.output


@pytest.mark.long
def test_a_process_that_cannot_start_again_is_tried_again(processes: WorkerProcesses) -> None:
    """The wait grows, and the other process goes on serving."""
    with processes.process("--processes", "2") as supervisor:
        [first, _] = processes.workers(2)
        processes.breaks.touch()
        os.kill(pid_of(first), signal.SIGKILL)
        eventually(lambda: supervisor.output.count("ended with exit code 1; the next one") >= 2)
        assert processes.hf.enqueue(pid.call()).result(timeout=60) != pid_of(first)
        processes.breaks.unlink()
        processes.workers(2)
        assert supervisor.stop() == 0


@pytest.mark.long
def test_processes_end_when_the_queues_are_idle(processes: WorkerProcesses) -> None:
    """With `--until-idle` the supervisor ends too, with exit code 0."""
    handles = processes.hf.enqueue_many([pid.call(0.01) for _ in range(50)])
    with processes.process("--processes", "2", "--until-idle") as supervisor:
        assert supervisor.wait() == 0
    assert all(handle.status().state == "done" for handle in handles)


def test_a_process_is_replaced_after_some_tasks(processes: WorkerProcesses) -> None:
    """Each task runs once; old processes end when their successors serve."""
    handles = processes.hf.enqueue_many([pid.call(0.02) for _ in range(70)])
    options = ("--processes", "1", "--max-tasks", "30", "--concurrency", "4")
    with processes.process(*options) as supervisor:
        pids = [handle.result(timeout=60) for handle in handles]
        assert 2 <= len(set(pids)) <= 6
        assert max(map(pids.count, pids)) <= 75
        assert {handle.status().attempts for handle in handles} == {1}
        assert "is replaced: it has reached" in supervisor.output
        processes.seen.update(pids)
        assert supervisor.stop() == 0


@pytest.mark.long
def test_a_long_task_of_a_replaced_process_finishes(processes: WorkerProcesses) -> None:
    """It takes longer than the grace; the successor runs the other tasks meanwhile."""
    options = ("--processes", "1", "--max-tasks", "5", "--concurrency", "2", "--grace", "0")
    with processes.process(*options) as supervisor:
        [handle] = processes.waiting()
        [first] = processes.noted_pids()
        processes.seen.add(first)
        others = processes.hf.enqueue_many([pid.call() for _ in range(30)])
        assert {each.result(timeout=60) for each in others} - {first}
        assert is_running(first)
        processes.gate.touch()
        assert handle.result(timeout=60) == first
        assert handle.status().attempts == 1
        eventually(lambda: not is_running(first))
        processes.workers(1)
        assert supervisor.stop() == 0


def test_a_leaking_process_is_replaced_without_a_failed_task(processes: WorkerProcesses) -> None:
    """The tasks have one attempt each, so that a failure would make them dead."""
    count, size = 80, 4 << 20
    handles = processes.hf.enqueue_many(
        [leaks.call(str(processes.notes), size) for _ in range(count)]
    )
    options = ("--processes", "1", "--max-rss", "200", "--concurrency", "1")
    with processes.process(*options) as supervisor:
        for handle in handles:
            handle.result(timeout=60)
        pids = processes.noted_pids()
        processes.seen.update(pids)
        assert len(pids) == count
        assert len(set(pids)) >= 2
        assert max(map(pids.count, pids)) * size < 400 << 20
        assert "MiB of memory" in supervisor.output
        assert processes.hf.queue(QUEUE).stats().dead == 0
        assert supervisor.stop() == 0


@pytest.mark.long
def test_a_process_that_does_not_end_is_killed(processes: WorkerProcesses) -> None:
    """An async function blocks its event loop for good. The exit code says that this happened."""
    handle = processes.hf.enqueue(blocks.call(str(processes.notes)))
    with processes.process("--processes", "2", "--grace", "0") as supervisor:
        eventually(processes.noted)
        processes.workers(1)
        supervisor.terminate()
        assert supervisor.wait(LATE_S + 60.0) == 1
        assert "does not end: it is killed" in supervisor.output
    assert handle.status().state == "running"
    processes.hf.queue(QUEUE).purge()


@pytest.mark.long
def test_a_process_that_does_not_end_without_its_supervisor_kills_itself(
    processes: WorkerProcesses,
) -> None:
    """Otherwise it would be left over."""
    processes.hf.enqueue(blocks.call(str(processes.notes)))
    with processes.process("--processes", "2", "--grace", "0") as supervisor:
        eventually(processes.noted)
        processes.workers(1)
        processes.seen.update(processes.noted_pids())
        supervisor.kill()
        eventually(lambda: not any(map(is_running, processes.seen)), LATE_S + 60.0)


def children_of(process: int) -> list[int]:
    """Return the process ids of its children."""
    path = Path(f"/proc/{process}/task/{process}/children")
    return [int(child) for child in path.read_text().split()]
