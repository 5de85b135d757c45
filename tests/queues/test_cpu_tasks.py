"""Tasks with `cpu=True`: they run in child processes of the worker, which it may kill."""

import contextlib
import logging
import os
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import date
from pathlib import Path

import pytest

from faults.waiting import eventually
from holdfast import Holdfast, TaskFailed, TaskHandle, TaskRegistry, Worker
from queues.cpu_sample import (
    QUEUE,
    crashes,
    crashes_once,
    day_after,
    describes_itself,
    endless,
    exits,
    fails,
    forks_and_dies,
    forks_and_returns,
    in_a_thread,
    pid,
    runs_a_loop,
    sleeps_a_bit,
    speaks,
    speaks_oddly,
    starts_a_program,
    tasks,
    unstorable,
    waits,
)


def drain(hf: Holdfast, cpu_processes: int = 1) -> None:
    """Run everything that is there."""
    hf.worker(tasks, cpu_processes=cpu_processes).run(until_idle=True)


@contextmanager
def serving(hf: Holdfast, **options: object) -> Iterator[Worker]:
    """Serve the queues in a thread, within the context."""
    worker = hf.worker(tasks, **options)  # type: ignore[arg-type]
    thread = threading.Thread(target=worker.run)
    thread.start()
    try:
        yield worker
    finally:
        worker.stop(grace=0)
        thread.join()


def lines(path: Path) -> list[str]:
    """Return what tasks have noted."""
    return path.read_text().split("\n")[:-1] if path.exists() else []


def noted_pid(path: Path) -> int:
    """Wait until a task has noted a process, and return its id."""
    eventually(lambda: lines(path))
    return int(lines(path)[-1])


def has_ended(process: int) -> bool:
    """Return whether there is no such process, or only its exit code is left."""
    try:
        state = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return True
    return state == "Z"


def test_a_task_runs_in_another_process_and_returns_its_result(hf: Holdfast) -> None:
    one, day = hf.enqueue(pid.call()), hf.enqueue(day_after.call(date(2026, 11, 23)))
    drain(hf)
    assert one.result(timeout=0) != os.getpid()
    assert day.result(timeout=0) == date(2026, 11, 24)


def test_children_are_used_again_and_bounded(hf: Holdfast) -> None:
    handles = [hf.enqueue(pid.call()) for _ in range(20)]
    drain(hf, cpu_processes=2)
    assert len({handle.result(timeout=0) for handle in handles}) <= 2


def test_a_task_knows_itself(hf: Holdfast) -> None:
    handle = hf.enqueue(describes_itself.call().options(task_id="me"))
    drain(hf)
    task_id, task, queue, attempt, token = handle.result(timeout=0)
    assert (task_id, task, queue, attempt) == ("me", "describes_itself", QUEUE, 1)
    assert token > 10**15


def test_a_task_may_run_an_event_loop(hf: Holdfast) -> None:
    handles = [hf.enqueue(runs_a_loop.call()) for _ in range(2)]
    drain(hf)
    assert [handle.result(timeout=0) for handle in handles] == [[42, 42, 1]] * 2


def test_an_exception_travels_as_text_and_the_task_runs_again(
    hf: Holdfast, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    handle = hf.enqueue(fails.call(str(tmp_path / "ran")))
    drain(hf)
    assert lines(tmp_path / "ran") == ["1", "2"]
    assert handle.status().reason == "failed: ValueError: no such player"
    [last] = [record for record in caplog.records if record.levelno == logging.ERROR]
    assert last.holdfast_outcome == "dead"
    assert 'raise ValueError("no such player")' in str(last.exc_text)


def test_an_exit_is_an_error_of_the_task_and_no_crash(hf: Holdfast) -> None:
    handle = hf.enqueue(exits.call())
    drain(hf)
    status = handle.status()
    assert (status.reason, status.crashes) == ("failed: SystemExit: enough", 0)


def test_wrong_arguments_and_results_end_as_in_a_thread(hf: Holdfast) -> None:
    wrong, result = hf.enqueue(day_after.call("no day")), hf.enqueue(unstorable.call())  # type: ignore[arg-type]
    drain(hf)
    assert wrong.status().reason.startswith("bad-arguments: ")
    assert result.status().state == "done"
    with pytest.raises(TaskFailed, match="bad-result: "):
        result.result(timeout=0)


@pytest.mark.parametrize(
    ("how", "text"),
    [
        pytest.param("segfault", "was ended by SIGSEGV", marks=pytest.mark.long),
        ("kill", "was ended by SIGKILL"),
        pytest.param("exit", "ended with exit code 3", marks=pytest.mark.long),
    ],
)
def test_a_child_that_dies_is_a_crash_of_its_task_alone(
    hf: Holdfast, tmp_path: Path, how: str, text: str
) -> None:
    path, gate = tmp_path / "ran", tmp_path / "gate"
    with serving(hf, cpu_processes=2):
        other = hf.enqueue(waits.call(str(tmp_path / "other"), str(gate)))
        child = noted_pid(tmp_path / "other")
        handle = hf.enqueue(crashes.call(how, str(path)))
        eventually(lambda: handle.status().state == "dead")
        gate.touch()
        assert other.result(timeout=60) == child
        assert other.status().attempts == 1
    assert lines(path) == [f"{n} {how}" for n in (1, 2, 3)]
    status = handle.status()
    assert status.reason == f"crashed: its child process {text}, crash 3 of 3"
    assert (status.attempts, status.crashes) == (3, 3)


@pytest.mark.long
def test_a_task_that_crashed_once_runs_again_and_may_succeed(
    hf: Holdfast, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    handle = hf.enqueue(crashes_once.call(str(tmp_path / "ran")))
    drain(hf)
    assert handle.result(timeout=0) == "done"
    assert len(set(lines(tmp_path / "ran"))) == 2  # in two processes
    [crash] = [each for each in caplog.records if getattr(each, "holdfast_outcome", "") == "crash"]
    assert "crashed: its child process was ended by SIGKILL, crash 1 of 3" in crash.getMessage()


def test_a_child_is_killed_at_the_timeout(hf: Holdfast, tmp_path: Path) -> None:
    handle = hf.enqueue(endless.call(str(tmp_path / "ran")))
    drain(hf)
    status = handle.status()
    reason = "failed: TimeoutError: it took longer than its timeout, 0.5 s"
    assert (status.state, status.reason, status.crashes) == ("dead", reason, 0)
    assert has_ended(noted_pid(tmp_path / "ran"))


def test_the_time_that_a_task_waits_for_a_child_is_not_part_of_its_timeout(
    hf: Holdfast, tmp_path: Path
) -> None:
    handles = [hf.enqueue(endless.call(str(tmp_path / "ran"))) for _ in range(2)]
    drain(hf)
    assert len(lines(tmp_path / "ran")) == 2  # both began
    assert {handle.status().state for handle in handles} == {"dead"}


@pytest.mark.parametrize("task", [pytest.param(waits, marks=pytest.mark.long), starts_a_program])
def test_a_cancelled_task_is_killed_with_what_it_started(
    hf: Holdfast, tmp_path: Path, task: object
) -> None:
    path = str(tmp_path / "ran")
    with serving(hf):
        call = waits.call(path, str(tmp_path / "gate")) if task is waits else None
        handle: TaskHandle[object] = hf.enqueue(call or starts_a_program.call(path))
        process = noted_pid(tmp_path / "ran")
        assert handle.cancel()
        eventually(lambda: has_ended(process))
        assert hf.enqueue(pid.call()).result(timeout=60)


def test_a_lost_lease_kills_the_child(hf: Holdfast, tmp_path: Path) -> None:
    with serving(hf, lease=1.0):
        handle = hf.enqueue(waits.call(str(tmp_path / "ran"), str(tmp_path / "gate")))
        process = noted_pid(tmp_path / "ran")
        hf.erase_namespace()
        eventually(lambda: has_ended(process))
    assert handle.status().state == "unknown"


def test_a_stopped_worker_gives_the_task_back(hf: Holdfast, tmp_path: Path) -> None:
    with serving(hf):
        handle = hf.enqueue(waits.call(str(tmp_path / "ran"), str(tmp_path / "gate")))
        process = noted_pid(tmp_path / "ran")
    assert has_ended(process)
    status = handle.status()
    assert (status.state, status.attempts, status.crashes) == ("queued", 0, 0)


@pytest.mark.long
def test_an_idle_child_that_is_killed_costs_no_task_anything(hf: Holdfast) -> None:
    with serving(hf, cpu_processes=1):
        first = hf.enqueue(pid.call()).result(timeout=60)
        os.kill(first, signal.SIGKILL)
        eventually(lambda: has_ended(first))
        handle = hf.enqueue(pid.call())
        assert handle.result(timeout=60) != first
        assert handle.status().attempts == 1
        assert handle.status().crashes == 0


def test_children_end_with_their_worker(hf: Holdfast) -> None:
    with serving(hf, cpu_processes=1) as worker:
        child = hf.enqueue(pid.call()).result(timeout=60)
        [status] = hf.workers()
        assert not has_ended(child)
        assert (status.name, worker.memory is None) == (worker.name, False)
    assert has_ended(child)


def test_logs_and_prints_of_a_child_come_out_at_the_worker(
    hf: Holdfast, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    hf.enqueue(speaks.call())
    drain(hf)
    [record] = [each for each in caplog.records if each.name == "queues.cpu_sample"]
    assert record.getMessage() == "logged in the child of someone"
    assert (record.player, record.process != os.getpid()) == (17, True)  # type: ignore[attr-defined]
    assert "printed in the child\n" in capfd.readouterr().out


@pytest.mark.long
def test_odd_fields_of_a_record_do_not_lose_it(
    hf: Holdfast, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    hf.enqueue(speaks_oddly.call())
    drain(hf)
    [record] = [each for each in caplog.records if each.name == "queues.cpu_sample"]
    assert record.getMessage() == "lone \\ud800"
    assert (record.name_of, record.large, record.number) == ("jill \\ud800", str(2**70), 17)
    assert "Logging error" not in capfd.readouterr().err


@pytest.mark.long
def test_a_child_that_dies_is_noticed_while_a_process_that_it_forked_lives(
    hf: Holdfast, tmp_path: Path
) -> None:
    handle = hf.enqueue(forks_and_dies.call(str(tmp_path / "forked")))
    started = time.monotonic()
    drain(hf)
    assert time.monotonic() - started < 30.0
    assert handle.status().reason.startswith("crashed: ")
    forked = [int(line) for line in lines(tmp_path / "forked")]
    assert len(forked) == 3
    eventually(lambda: all(map(has_ended, forked)))


@pytest.mark.parametrize("how", [pytest.param("returns", marks=pytest.mark.long), "raises"])
def test_only_the_child_answers_when_its_task_forks(
    hf: Holdfast, tmp_path: Path, capfd: pytest.CaptureFixture[str], how: str
) -> None:
    handles = [hf.enqueue(forks_and_returns.call(str(tmp_path / "forked"), how)) for _ in range(3)]
    pids = hf.enqueue(pid.call())
    drain(hf)
    assert [handle.result(timeout=0) for handle in handles] == ["child"] * 3
    assert isinstance(pids.result(timeout=0), int)
    assert all(has_ended(int(line)) for line in lines(tmp_path / "forked"))
    err = capfd.readouterr().err
    assert err.count("logged in the copy\n") == 3
    assert ("ValueError: raised in the copy" in err) == (how == "raises")


@pytest.mark.long
def test_the_duration_begins_when_the_child_has_the_task(hf: Holdfast, tmp_path: Path) -> None:
    hf.enqueue_many([sleeps_a_bit.call() for _ in range(4)])
    drain(hf)
    assert all(ended.duration < 0.45 for ended in hf.queue(QUEUE).history())


def test_a_worker_claims_no_more_than_its_children_can_begin(hf: Holdfast, tmp_path: Path) -> None:
    gate = tmp_path / "gate"
    with serving(hf, cpu_processes=2, concurrency=50):
        calls = [waits.call(str(tmp_path / "ran"), str(gate)) for _ in range(10)]
        hf.enqueue_many(calls)
        eventually(lambda: len(lines(tmp_path / "ran")) == 2)
        assert hf.enqueue(in_a_thread.call()).result(timeout=60) == os.getpid()
        assert hf.queue(QUEUE).stats().running == 2  # another worker may take the others
        gate.touch()
        eventually(lambda: hf.queue(QUEUE).stats().ready == 0)


def test_a_registry_that_no_child_can_import_is_refused_at_once(hf: Holdfast) -> None:
    hidden = TaskRegistry()

    @hidden.task(queue="hidden", cpu=True)
    def work() -> None: ...

    hf.enqueue(work.call())
    with pytest.raises(ValueError, match="a global variable of a module"):
        hf.worker(hidden).run(until_idle=True)
    assert hf.queue("hidden").stats().ready == 1


def test_an_async_function_is_refused() -> None:
    with pytest.raises(TypeError, match="cpu=True must be a plain function"):

        @TaskRegistry().task(cpu=True)
        async def work() -> None: ...


def test_a_worker_with_much_to_do_runs_each_task_once(hf: Holdfast, tmp_path: Path) -> None:
    path = tmp_path / "ran"
    handles = [hf.enqueue(pid.call()) for _ in range(60)]
    began = time.monotonic()
    drain(hf, cpu_processes=2)
    print(f"{60 / (time.monotonic() - began):.0f} tasks/s")
    assert all(handle.status().attempts == 1 for handle in handles)
    with contextlib.suppress(FileNotFoundError):
        path.unlink()
