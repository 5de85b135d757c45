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


class Bench:
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
def bench(standalone: Server, tmp_path: Path) -> Iterator[Bench]:
    pytest.importorskip("watchfiles", reason="--reload needs the extra dev")
    namespace = secrets.token_hex(4)
    (tmp_path / "chores.py").write_text(CODE.format(version=1))
    with (
        worker_program(tmp_path, standalone.url, "--reload", namespace=namespace) as process,
        Holdfast.from_url(standalone.url, namespace=namespace) as hf,
    ):
        process.wait_for_output("serves queue 'chores'")
        yield Bench(tmp_path, process, hf)
        process.stop()


def test_a_save_starts_the_worker_again(bench: Bench) -> None:
    """Also twice within a second, with files of the same size."""
    assert bench.version() == "1"
    for version in (2, 3, 4):
        bench.save(version)
        eventually(lambda v=version: bench.version() == str(v))  # type: ignore[misc]


def test_running_tasks_are_given_back_and_run_with_the_new_code(bench: Bench) -> None:
    handle = bench.hf.enqueue(long.call(str(bench.notes)))
    eventually(lambda: bench.noted() == ["1"])
    bench.save(2)
    handle.result(timeout=60.0)
    assert bench.noted() == ["1", "2"]
    assert handle.status().attempts == 1


def test_a_syntax_error_waits_for_the_next_save(bench: Bench) -> None:
    bench.save("= oops")
    bench.process.wait_for_output("it starts again at the next save")
    assert "SyntaxError" in bench.process.output
    assert bench.process.is_running
    bench.save(2)
    assert bench.version() == "2"


def test_other_files_do_not_count(bench: Bench) -> None:
    (bench.folder / "notes.md").write_text("hello")
    (bench.folder / "__pycache__").mkdir(exist_ok=True)
    (bench.folder / "__pycache__" / "x.py").write_text("")
    assert bench.version() == "1"
    time.sleep(1)
    assert "starting again" not in bench.process.output


def test_sigterm_ends_both(bench: Bench) -> None:
    assert bench.process.stop() == 0
    assert bench.process.output.count("has ended") == 1
    assert not bench.hf.workers()


def test_a_worker_whose_reloader_is_killed_ends(bench: Bench) -> None:
    eventually(bench.hf.workers)
    bench.process.kill()
    eventually(lambda: not bench.hf.workers())


def test_ctrl_c_reaches_both_and_ends_both_once(bench: Bench) -> None:
    """A terminal sends SIGINT to the whole group: the reloader does not repeat it."""
    [worker] = eventually(bench.hf.workers)
    os.kill(int(worker.name.split(":")[1]), signal.SIGINT)
    os.kill(bench.process.pid, signal.SIGINT)
    assert bench.process.wait() == 0
    assert "KeyboardInterrupt" not in bench.process.output


def test_until_idle_makes_no_sense_with_it(standalone: Server, tmp_path: Path) -> None:
    with worker_program(tmp_path, standalone.url, "--reload", "--until-idle") as process:
        assert process.wait() == 2
    assert "give it without --until-idle" in process.output
