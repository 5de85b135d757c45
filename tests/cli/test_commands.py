"""The commands, as a person or a script runs them."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

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
def write(name: str, seconds: float = 0) -> None:
    Path(name + ".begun").touch()
    time.sleep(seconds)
    Path(name).touch()
"""

tasks = TaskRegistry()


@tasks.task(queue="cli")
def write(name: str, seconds: float = 0) -> None:
    """The producer's side of the task in MODULE."""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "chores.py").write_text(MODULE)
    return tmp_path


def holdfast(*args: str, cwd: Path | None = None, **env: str) -> subprocess.CompletedProcess[str]:
    """Run a command to its end."""
    clean = {k: v for k, v in os.environ.items() if not k.startswith("HOLDFAST_")}
    return subprocess.run(
        [sys.executable, "-m", "holdfast", *args],
        cwd=cwd,
        env=clean | env,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def test_a_worker_runs_tasks_until_there_are_none(folder: Path, standalone: Server) -> None:
    """From the module in the current folder."""
    with Holdfast.from_url(standalone.url, namespace=folder.name) as hf:
        hf.enqueue_many([write.call(f"done-{n}") for n in range(3)])
    result = holdfast(
        "worker", "chores:tasks", "--namespace", folder.name, "--until-idle",
        cwd=folder, HOLDFAST_URL=standalone.url,
    )  # fmt: skip
    assert result.returncode == 0, result.stderr
    assert sorted(path.name for path in folder.glob("done-?")) == ["done-0", "done-1", "done-2"]
    assert result.stderr.count("attempt 1") == 3


def test_sigterm_finishes_what_runs(folder: Path, standalone: Server) -> None:
    """And gives back what has not begun; the exit code says that all went well."""
    argv = (
        "-m", "holdfast", "worker", "chores:tasks", "--url", standalone.url, "--namespace",
        folder.name, "--concurrency", "1", "--queue", "cli=3",
    )  # fmt: skip
    script = f"import os, sys; os.chdir({str(folder)!r}); os.execv(sys.executable, sys.argv[1:])"
    with (
        Holdfast.from_url(standalone.url, namespace=folder.name) as hf,
        Process.python("-c", script, sys.executable, *argv, name="worker") as worker,
    ):
        hf.enqueue_many([write.call("first", 0.5), write.call("second", 0.5)])
        eventually((folder / "first.begun").exists, timeout=30)
        os.kill(worker.pid, signal.SIGTERM)
        assert worker.wait() == 0
        assert (folder / "first").exists()
        assert not (folder / "second.begun").exists()
        assert hf.queue("cli").stats().ready == 1


@pytest.mark.parametrize(
    ("target", "problem"),
    [
        ("nowhere:tasks", "no module 'nowhere'"),
        ("chores:nothing", "is not a TaskRegistry"),
        ("chores:write", "is not a TaskRegistry"),
    ],
)
def test_a_wrong_target_is_explained(folder: Path, target: str, problem: str) -> None:
    """In one sentence, with the exit code for wrong usage."""
    result = holdfast("worker", target, "--url", "redis://127.0.0.1:1", cwd=folder)
    assert (result.returncode, "Traceback" in result.stderr) == (2, False)
    assert problem in result.stderr


def test_which_server_is_asked_for(folder: Path) -> None:
    """No command but the demo brings its own server unasked."""
    result = holdfast("queues")
    assert (result.returncode, "--embedded FOLDER" in result.stderr) == (2, True)
    result = holdfast("queues", "--url", "redis://127.0.0.1:1")
    assert (result.returncode, "Traceback" in result.stderr) == (1, False)
    result = holdfast("queues", "--embedded", str(folder / "data"))
    assert (result.returncode, result.stdout) == (0, "no queues in namespace holdfast\n")


def test_queues_are_listed(standalone: Server) -> None:
    """For people and for scripts; hostile names are shown as what they are."""
    with Holdfast.from_url(standalone.url, namespace="listed") as hf:
        for name in ("plain", "[red]\x1b[31m\u202e"):
            registry = TaskRegistry()
            hf.enqueue(registry.task(queue=name)(print).call())
    args = ["queues", "--url", standalone.url, "--namespace", "listed"]
    shown = CliRunner().invoke(app, args)
    assert shown.exit_code == 0
    assert "\x1b" not in shown.output
    assert "\u202e" not in shown.output
    assert r"[red]\x1b[31m\u202e" in shown.output
    rows = [
        json.loads(line) for line in CliRunner().invoke(app, [*args, "--json"]).output.splitlines()
    ]
    assert [row["queue"] for row in rows] == ["[red]\x1b[31m\u202e", "plain"]
    assert rows[1] == {
        "queue": "plain", "ready": 1, "delayed": 0, "running": 0, "dead": 0, "waiting_workers": 0,
    }  # fmt: skip


def test_the_version() -> None:
    """As the package has it."""
    assert CliRunner().invoke(app, ["--version"]).output == f"holdfast {__version__}\n"
