"""`holdfast worker MODULE:REGISTRY`: mistakes end in a sentence that helps."""

from __future__ import annotations

import sysconfig
from collections.abc import Callable
from pathlib import Path

import pytest

from cli.filled_queue import Run
from cli.programs import holdfast
from holdfast import Holdfast, TaskRegistry

FILES = {
    "chores.py": """
from holdfast import TaskRegistry
tasks = TaskRegistry()
other = TaskRegistry()
@tasks.task(queue="email")
def write(name: str) -> None: ...
""",
    "plain.py": "tasks = 1\n",
    "broken.py": "def load():\n    raise OSError('no file\\x1b[31m')\n\nload()\n",
    "twice.py": "import chores\n@chores.tasks.task(name='write')\ndef again(): ...\n",
    "unclosed.py": "import chores\nx = (1,\n",
    "lacking.py": "import no_such_library\n",
    "script.py": "import sys\nsys.exit(3)\n",
    "deep.py": "import json\njson.loads('{')\n",
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a folder with modules of a user, good and bad."""
    for name, source in FILES.items():
        (tmp_path / name).write_text(source)
    return tmp_path


@pytest.mark.parametrize(
    ("target", "problem"),
    [
        ("nowhere:tasks", "there is no module 'nowhere' in '{folder}' or on Python's path"),
        ("nowhere.mail", "'nowhere.mail' cannot be imported: there is no module 'nowhere' in '"),
        ("xml.mail:tasks", "there is no module 'xml.mail' in 'xml'"),
        ("chores.tasks", "expected MODULE:REGISTRY"),
        ("chores.py:tasks", "did you mean 'chores:tasks'?"),
        ("./app/mail.py", "did you mean 'app.mail:tasks'?"),
        (":tasks", "'' is no name of a module"),
        (
            "chores:task",
            "module 'chores' (chores.py) has no 'task'; what it has: chores:tasks, chores:other",
        ),
        ("chores:write", "is not a TaskRegistry but 'Task'; what it has: chores:tasks"),
        ("plain", "'tasks' (the default) of module 'plain' (plain.py) is not a TaskRegistry but"),
        ("plain:jobs", "has no 'jobs', and no TaskRegistry at all"),
        ("shlex", "module 'shlex' ({stdlib}/shlex.py) has no 'tasks' (the default)"),
        ("chores:other", "a worker needs a queue"),
    ],
)
def test_a_wrong_target_is_explained(
    folder: Path, run_in: Callable[[Path], Run], target: str, problem: str
) -> None:
    """Print one sentence, and exit with the code for wrong usage."""
    result = run_in(folder)("worker", target, "--url", "redis://127.0.0.1:1")
    assert (result.exit_code, result.stderr.count("\n")) == (2, 1), result.stderr
    stdlib = sysconfig.get_paths()["stdlib"]
    assert problem.format(folder=folder, stdlib=stdlib) in result.stderr


@pytest.mark.parametrize(
    ("module", "shown"),
    [
        (
            "broken",
            ["OSError: no file\\x1b[31m", "broken.py:4: load()", "broken.py:2: raise OSErr"],
        ),
        ("twice", ["ValueError: a task named 'write' is", "twice.py:2: @chores.tasks.task(name="]),
        ("unclosed", ["SyntaxError: '(' was never closed", "unclosed.py:2: x = (1,"]),
        ("lacking", ["No module named 'no_such_library'", "lacking.py:1: import no_such_library"]),
        ("script", ["SystemExit: 3", "script.py:2: sys.exit(3)"]),
        ("deep", ["JSONDecodeError: ", "deep.py:2: json.loads('{')"]),
    ],
)
def test_a_module_that_fails_is_explained(
    folder: Path, run_in: Callable[[Path], Run], module: str, shown: list[str]
) -> None:
    """Print the error and the lines of the user's own code."""
    result = run_in(folder)("worker", module, "--url", "redis://127.0.0.1:1")
    assert result.exit_code == 1
    lines = result.stderr.splitlines()
    assert lines[0].startswith(f"holdfast: module {module!r} cannot be imported: ")
    assert len(lines) == len(shown)
    for line, part in zip(lines, shown, strict=True):
        assert part in line


def test_a_queue_that_no_task_names_is_warned_of(folder: Path) -> None:
    """Warn and run all the same; create the folder of the server."""
    result = holdfast(
        "worker", "chores", "--embedded", "data", "--until-idle", "--quiet",
        "--queue", "emial=2", "--queue", "email", cwd=folder,
    )  # fmt: skip
    assert result.returncode == 0, result.stderr
    assert result.stderr == (
        "holdfast: no task of this registry names queue 'emial'; did you mean 'email'?\n"
    )
    assert (folder / "data").is_dir()


def test_a_task_that_the_program_lacks_is_given_up(folder: Path) -> None:
    """Wait for the given seconds; by default for an hour."""
    with Holdfast.embedded(folder / "data") as hf:
        hf.enqueue(TaskRegistry().task(queue="email", name="unheard_of")(print).call())
        result = holdfast(
            "worker", "chores", "--embedded", "data", "--until-idle", "--unknown-timeout", "0",
            cwd=folder,
        )  # fmt: skip
        assert result.returncode == 0, result.stderr
        (dead,) = hf.queue("email").dead()
        assert "unheard_of" in dead.reason
