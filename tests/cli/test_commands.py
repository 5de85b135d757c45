"""Run the commands as a person or a script does."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from cli.programs import holdfast
from faults.processes import Process
from faults.servers import Server
from faults.waiting import eventually
from holdfast import Holdfast, TaskRegistry, __version__
from holdfast.cli.app import app

MODULE = """
import time
from pathlib import Path
from holdfast import TaskRegistry

tasks = TaskRegistry()

@tasks.task(queue="cli")
def write(name: str, after: str = "") -> None:
    Path(name + ".begun").touch()
    while after and not Path(after).exists():
        time.sleep(0.01)
    Path(name).touch()
"""

tasks = TaskRegistry()


@tasks.task(queue="cli")
def write(name: str, after: str = "") -> None:
    """Enqueue a call of the task in MODULE, as a producer does."""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "chores.py").write_text(MODULE)
    return tmp_path


def test_a_worker_runs_tasks_until_there_are_none(folder: Path, standalone: Server) -> None:
    """Import the module from the current folder."""
    with Holdfast.from_url(standalone.url, namespace=folder.name) as hf:
        hf.enqueue_many([write.call(f"done-{n}") for n in range(3)])
    result = holdfast(
        "worker", "chores:tasks", "--namespace", folder.name, "--until-idle",
        cwd=folder, HOLDFAST_URL=standalone.url,
    )  # fmt: skip
    assert result.returncode == 0, result.stderr
    assert sorted(path.name for path in folder.glob("done-?")) == ["done-0", "done-1", "done-2"]
    assert result.stderr.count("attempt 1") == 3


def test_a_worker_logs_what_it_serves_and_where(folder: Path, standalone: Server) -> None:
    """Log the server without its password, the namespace, the queues with weights, the slots."""
    standalone.execute("ACL", "SETUSER", "joe", "on", ">secret", "~*", "&*", "+@all")
    url = standalone.url.replace("redis://", "redis://joe:secret@")
    command = ("worker", "chores", "--until-idle", "--concurrency", "7")
    result = holdfast(
        *command, "--url", url, "--namespace", "here", "--queue", "cli=3", "--queue", "more",
        cwd=folder,
    )  # fmt: skip
    shown = standalone.url.replace("redis://", "redis://joe:***@")
    output = f": {shown}, namespace 'here', queues cli=3, more=1, concurrency 7\n"
    assert (result.returncode, output in result.stderr) == (0, True), result.stderr
    assert "secret" not in result.stderr
    result = holdfast(*command, "--embedded", "data", cwd=folder)
    output = ": the embedded server of 'data', namespace 'holdfast', queues cli=1, concurrency 7\n"
    assert (result.returncode, output in result.stderr) == (0, True), result.stderr


def test_sigterm_finishes_what_runs(folder: Path, standalone: Server) -> None:
    """Give back the tasks that have not begun, and exit with code 0."""
    argv = (
        "-m", "holdfast", "worker", "chores:tasks", "--url", standalone.url, "--namespace",
        folder.name, "--concurrency", "1", "--queue", "cli=3",
    )  # fmt: skip
    script = f"import os, sys; os.chdir({str(folder)!r}); os.execv(sys.executable, sys.argv[1:])"
    with (
        Holdfast.from_url(standalone.url, namespace=folder.name) as hf,
        Process.python("-c", script, sys.executable, *argv, name="worker") as worker,
    ):
        hf.enqueue_many([write.call("first", "heard"), write.call("second")])
        eventually((folder / "first.begun").exists)
        os.kill(worker.pid, signal.SIGTERM)
        worker.wait_for_output("stops: running tasks (1) have")
        (folder / "heard").touch()
        assert worker.wait() == 0
        assert (folder / "first").exists()
        assert not (folder / "second.begun").exists()
        assert hf.queue("cli").stats().ready == 1


def test_the_version() -> None:
    """Print the version of the package."""
    assert CliRunner().invoke(app, ["--version"]).output == f"holdfast {__version__}\n"
