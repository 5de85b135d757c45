"""`holdfast worker --reload`: a save starts the worker again with the new code."""

from __future__ import annotations

import os
import secrets
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from cli.worker_programs import worker_program
from faults.processes import Process
from faults.servers import Server
from faults.waiting import eventually
from holdfast import Holdfast, TaskRegistry

CODE = """
import asyncio
from pathlib import Path
from holdfast import TaskRegistry

tasks = TaskRegistry()
VERSION = {version}

@tasks.task(queue="chores")
def note(path: str) -> None:
    with Path(path).open("a") as file:
        file.write(f"{{VERSION}}\\n")

@tasks.task(queue="chores")
async def long(path: str) -> None:
    note(path)
    await asyncio.sleep(0 if VERSION > 1 else 600)
"""

tasks = TaskRegistry()


@tasks.task(queue="chores")
def note(path: str) -> None:
    """Declare the task that the worker runs."""


@tasks.task(queue="chores")
async def long(path: str) -> None:
    """Declare the task that the worker runs."""


class ReloadedWorker:
    """A worker with `--reload`, its code, and what its tasks wrote."""

    def __init__(self, folder: Path, process: Process, hf: Holdfast) -> None:
        self.folder, self.process, self.hf = folder, process, hf
        self.notes = folder / "notes.txt"

    def save(self, version: int | str) -> None:
        """Save another version of the code."""
        (self.folder / "chores.py").write_text(CODE.format(version=version))

    def noted(self) -> list[str]:
        """Return the versions that ran a task."""
        return self.notes.read_text().split() if self.notes.exists() else []

    def version(self) -> str:
        """Return the version that runs a task now."""
        before = len(self.noted())
        self.hf.enqueue(note.call(str(self.notes)))
        eventually(lambda: len(self.noted()) > before)
        return self.noted()[-1]


@pytest.fixture
def worker(standalone: Server, tmp_path: Path) -> Iterator[ReloadedWorker]:
    pytest.importorskip("watchfiles", reason="--reload needs the extra dev")
    namespace = secrets.token_hex(4)
    (tmp_path / "chores.py").write_text(CODE.format(version=1))
    with (
        worker_program(tmp_path, standalone.url, "--reload", namespace=namespace) as process,
        Holdfast.from_url(standalone.url, namespace=namespace) as hf,
    ):
        process.wait_for_output("serves queue 'chores'")
        yield ReloadedWorker(tmp_path, process, hf)
        process.stop()


def test_a_save_starts_the_worker_again(worker: ReloadedWorker) -> None:
    """Also twice within a second, with files of the same size."""
    assert worker.version() == "1"
    for version in (2, 3):
        worker.save(version)
        eventually(lambda v=version: worker.version() == str(v))  # type: ignore[misc]


def test_running_tasks_are_given_back_and_run_with_the_new_code(worker: ReloadedWorker) -> None:
    handle = worker.hf.enqueue(long.call(str(worker.notes)))
    eventually(lambda: worker.noted() == ["1"])
    worker.save(2)
    handle.result(timeout=60.0)
    assert worker.noted() == ["1", "2"]
    assert handle.status().attempts == 1


def test_a_syntax_error_waits_for_the_next_save(worker: ReloadedWorker) -> None:
    worker.save("= oops")
    worker.process.wait_for_output("it starts again at the next save")
    assert "SyntaxError" in worker.process.output
    assert worker.process.is_running
    worker.save(2)
    assert worker.version() == "2"


@pytest.mark.long
def test_other_files_do_not_count(worker: ReloadedWorker) -> None:
    (worker.folder / "notes.md").write_text("hello")
    (worker.folder / "__pycache__").mkdir(exist_ok=True)
    (worker.folder / "__pycache__" / "x.py").write_text("")
    assert worker.version() == "1"
    time.sleep(1)
    assert "starting again" not in worker.process.output


@pytest.mark.long
def test_sigterm_ends_both(worker: ReloadedWorker) -> None:
    assert worker.process.stop() == 0
    assert worker.process.output.count("has ended") == 1
    assert not worker.hf.workers()


def test_a_worker_ends_when_its_reloader_is_killed(worker: ReloadedWorker) -> None:
    eventually(worker.hf.workers)
    worker.process.kill()
    eventually(lambda: not worker.hf.workers())


@pytest.mark.long
def test_ctrl_c_reaches_both_and_ends_both_once(worker: ReloadedWorker) -> None:
    """A terminal sends SIGINT to the whole group: the reloader does not repeat it."""
    [status] = eventually(worker.hf.workers)
    os.kill(int(status.name.split(":")[1]), signal.SIGINT)
    os.kill(worker.process.pid, signal.SIGINT)
    assert worker.process.wait() == 0
    assert "KeyboardInterrupt" not in worker.process.output


def test_until_idle_makes_no_sense_with_it(standalone: Server, tmp_path: Path) -> None:
    with worker_program(tmp_path, standalone.url, "--reload", "--until-idle") as process:
        assert process.wait() == 2
    assert "give it without --until-idle" in process.output
