"""Programs with CPU-bound tasks: how their children find the tasks, and that none is left over."""

import os
import signal
from pathlib import Path

import pytest

from faults.processes import Process
from faults.servers import Server
from faults.waiting import eventually
from holdfast import Holdfast
from queues.cpu_sample import waits
from queues.test_cpu_tasks import has_ended, lines, noted_pid

PROGRAM = """
import sys
from holdfast import Holdfast, TaskRegistry

tasks = TaskRegistry()

@tasks.task(cpu=True)
def double(n: int) -> int:
    return 2 * n

def main() -> None:
    with Holdfast.from_url(sys.argv[1], namespace=sys.argv[2]) as hf:
        handle = hf.enqueue(double.call(21))
        hf.worker(tasks).run(until_idle=True)
        print("result", handle.result(timeout=0))

"""
GUARDED = f'{PROGRAM}\nif __name__ == "__main__":\n    main()\n'
UNGUARDED = f"{PROGRAM}\nmain()\n"

SERVES = """
import sys
from holdfast import Holdfast
from queues.cpu_sample import tasks

if __name__ == "__main__":
    with Holdfast.from_url(sys.argv[1], namespace=sys.argv[2]) as hf:
        hf.worker(tasks, cpu_processes=2, lease=1.0).run()
"""


@pytest.mark.parametrize("how", [pytest.param("a file", marks=pytest.mark.long), "a module"])
def test_a_program_may_hold_the_tasks_itself(standalone: Server, tmp_path: Path, how: str) -> None:
    (tmp_path / "app.py").write_text(GUARDED)
    program = [str(tmp_path / "app.py")] if how == "a file" else ["-m", "app"]
    env = {"PYTHONPATH": str(tmp_path)}
    with Process.python(*program, standalone.url, tmp_path.name, env=env) as process:
        assert process.wait() == 0
        assert "result 42\n" in process.output


@pytest.mark.long
def test_a_program_that_works_when_imported_is_refused(standalone: Server, tmp_path: Path) -> None:
    (tmp_path / "app.py").write_text(UNGUARDED)
    with Process.python(tmp_path / "app.py", standalone.url, tmp_path.name) as process:
        assert process.wait() == 1
        assert "RuntimeError: a child process cannot import the tasks" in process.output


def test_a_module_that_cannot_be_imported_again_ends_the_worker_with_its_error(
    standalone: Server, tmp_path: Path
) -> None:
    fails = "import os\nif 'SECOND' in os.environ: raise OSError('the disk is full')\n"
    script = f"{fails}os.environ['SECOND'] = '1'\n{GUARDED}"
    (tmp_path / "app.py").write_text(script)
    with Process.python(tmp_path / "app.py", standalone.url, tmp_path.name) as process:
        assert process.wait() == 1
        assert "OSError: the disk is full" in process.output


@pytest.mark.parametrize(
    ("kills", "ends"),
    [
        (2, "result 42\n"),
        pytest.param(99, "was ended by SIGKILL while", marks=pytest.mark.long),
    ],
)
def test_a_child_that_is_killed_while_it_imports_is_replaced(
    standalone: Server, tmp_path: Path, kills: int, ends: str
) -> None:
    """A kill says nothing about the tasks; only many in a row end the worker."""
    note = tmp_path / "imports"
    dies = (
        "import os, pathlib, signal\n"
        f"note = pathlib.Path({str(note)!r})\n"
        "seen = note.read_text() if note.exists() else ''\n"
        "note.write_text(seen + 'x')\n"
        f"if 0 < len(seen) <= {kills}: os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    (tmp_path / "app.py").write_text(dies + GUARDED)
    with Process.python(tmp_path / "app.py", standalone.url, tmp_path.name) as process:
        assert process.wait() == (0 if kills == 2 else 1)
        assert ends in process.output
    assert len(note.read_text()) == (4 if kills == 2 else 6)


def test_a_worker_is_stopped_while_a_child_imports(standalone: Server, tmp_path: Path) -> None:
    """The import may take long. A stop does not wait for it, and leaves no child."""
    note = tmp_path / "child"
    waits_long = (
        "import os, pathlib, sys, time\n"
        "if sys.argv[0] == '-c':\n"
        f"    pathlib.Path({str(note)!r}).write_text(str(os.getpid()))\n"
        "    time.sleep(600)\n"
    )
    (tmp_path / "app.py").write_text(waits_long + GUARDED)
    with Process.python(tmp_path / "app.py", standalone.url, tmp_path.name) as process:
        eventually(lambda: note.exists() and note.read_text() != "", 60)
        process.terminate()
        process.wait(30)
    eventually(lambda: has_ended(int(note.read_text())), 30)


@pytest.mark.parametrize("busy", [True, pytest.param(False, marks=pytest.mark.long)])
def test_no_child_outlives_a_worker_that_was_killed(
    standalone: Server, tmp_path: Path, busy: bool
) -> None:
    (tmp_path / "serves.py").write_text(SERVES)
    path, gate = tmp_path / "ran", tmp_path / "gate"
    about = (standalone.url, tmp_path.name)
    with (
        Holdfast.from_url(standalone.url, namespace=tmp_path.name) as hf,
        Process.python(tmp_path / "serves.py", *about, name="worker") as worker,
    ):
        handle = hf.enqueue(waits.call(str(path), str(gate)))
        children = {noted_pid(path)}
        if not busy:
            gate.touch()
            children = {handle.result(timeout=60)}
        worker.kill()
        for child in children:
            eventually(lambda child=child: has_ended(child))
        if busy:
            worker.start()
            eventually(lambda: len(lines(path)) == 2)
            gate.touch()
            assert handle.result(timeout=60) not in children
            assert handle.status().attempts == 2
            assert worker.stop() == 0


def test_signals_for_the_whole_group_do_not_end_a_child(standalone: Server, tmp_path: Path) -> None:
    """A service manager may send SIGTERM to all processes of a service at once."""
    (tmp_path / "serves.py").write_text(SERVES)
    path, gate = tmp_path / "ran", tmp_path / "gate"
    with (
        Holdfast.from_url(standalone.url, namespace=tmp_path.name) as hf,
        Process.python(tmp_path / "serves.py", standalone.url, tmp_path.name) as worker,
    ):
        handle = hf.enqueue(waits.call(str(path), str(gate)))
        child = noted_pid(path)
        for number in (signal.SIGTERM, signal.SIGINT):
            os.kill(child, number)
        worker.terminate()
        gate.touch()
        assert worker.wait() == 0
        assert handle.result(timeout=0) == child
        assert has_ended(child)
