"""The plugin in sessions of pytest of its own, as an application has it."""

import re
import subprocess
import sys
import tomllib
from importlib import import_module
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PLUGIN = "holdfast.testing.plugin"
INI = """[pytest]
asyncio_mode = auto
asyncio_default_fixture_loop_scope = function
filterwarnings = error
"""
EXAMPLES = re.findall(r"```python\n(.*?)```", (ROOT / "docs/testing.md").read_text(), re.DOTALL)


def run(folder: Path, *args: str, **files: str) -> subprocess.CompletedProcess[str]:
    """Run pytest on *files* in *folder*, with warnings as errors."""
    for name, code in files.items():
        (folder / f"{name}.py").write_text(code)
    (folder / "pytest.ini").write_text(INI)
    return subprocess.run(
        [sys.executable, "-m", "pytest", "-p", PLUGIN, "-p", "no:cacheprovider", "-q", *args],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=110,
        check=False,
    )


def test_pytest_finds_it_by_itself() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert project["entry-points"]["pytest11"] == {PLUGIN: PLUGIN}
    assert import_module(PLUGIN).holdfast_client


@pytest.mark.parametrize(
    "args",
    [
        (),
        pytest.param(("-n", "2"), marks=pytest.mark.long),
        pytest.param(("-o", "asyncio_mode=strict"), marks=pytest.mark.long),
    ],
    ids=str,
)
def test_the_examples_of_the_docs_pass(tmp_path: Path, args: tuple[str, ...]) -> None:
    files = {f"test_{number}": code for number, code in enumerate(EXAMPLES)}
    if args[:1] == ("-o",):
        mark = "import pytest\n\npytestmark = pytest.mark.asyncio\n"
        files = {
            name: code.replace("\n\n", f"\n\n{mark}\n", 1)
            for name, code in files.items()
            if "async def test" in code and "def test" not in code.replace("async def test", "")
        }
    result = run(tmp_path, *args, **files)
    assert result.returncode == 0, result.stdout + result.stderr
    assert "passed" in result.stdout


QUIET = """
import os, sys

def test_nothing_happens():
    assert "redis" not in sys.modules
    assert "holdfast.client" not in sys.modules
    assert not [name for name in sys.modules if name.startswith("holdfast.server")]
"""


def test_nothing_happens_unless_it_is_asked_for(tmp_path: Path) -> None:
    result = run(tmp_path, test_quiet=QUIET)
    assert result.returncode == 0, result.stdout


APART = """
import os
import pytest

@pytest.mark.parametrize("n", range(3))
def test_apart(holdfast_client, holdfast_url, n):
    assert holdfast_client.counter("hits").total(60) == 0
    holdfast_client.counter("hits").add()
    assert holdfast_client.counter("hits").total(60) == 1
    print("server", holdfast_url)

def test_of_one_namespace(holdfast_client, holdfast_namespace, holdfast_inline):
    from holdfast import TaskRegistry
    assert holdfast_client.namespace == holdfast_inline(TaskRegistry()).namespace
    assert holdfast_client.namespace == holdfast_namespace

def test_that_fails(holdfast_tasks):
    holdfast_tasks.assert_enqueued("send_mail", to="jack")
"""


def test_each_test_has_its_own_namespace_on_one_server(tmp_path: Path) -> None:
    result = run(tmp_path, "-s", test_apart=APART)
    assert "1 failed, 4 passed" in result.stdout, result.stdout
    assert len(set(re.findall(r"server (\S+)", result.stdout))) == 1
    assert "not enqueued: send_mail(to='jack'); nothing is enqueued" in result.stdout
    [url] = set(re.findall(r"server (\S+)", result.stdout))
    assert not Path(url.removeprefix("unix://")).exists()  # the server went with the session


OVERRIDDEN = """
import pytest

@pytest.fixture(scope="session")
def holdfast_url():
    return "redis://127.0.0.1:1"
"""


def test_the_server_may_be_ones_own(tmp_path: Path) -> None:
    test = "def test_it(holdfast_client, holdfast_url):\n    assert holdfast_url.endswith(':1')\n"
    assert run(tmp_path, conftest=OVERRIDDEN, test_it=test).returncode == 0


FAILING = """
from holdfast import TaskRegistry

tasks = TaskRegistry()

@tasks.task()
def send(): ...

def test_blocking(holdfast_tasks):
    holdfast_tasks.assert_enqueued(send)

async def test_asyncio(async_holdfast_tasks):
    await async_holdfast_tasks.assert_enqueued(send)
"""


def test_a_failed_assertion_shows_no_line_of_the_library(tmp_path: Path) -> None:
    result = run(tmp_path, test_failing=FAILING)
    assert "2 failed" in result.stdout
    assert "AssertionError: not enqueued: send(…), in queue 'default'; nothing is" in result.stdout
    assert "task_bench.py" not in result.stdout
