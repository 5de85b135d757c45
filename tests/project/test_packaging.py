"""What the package says about itself is what it is."""

import importlib
import os
import re
import sys
import tomllib
from itertools import chain
from pathlib import Path

import pytest

import holdfast
from project.sources import PACKAGE, ROOT, modules, relative

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
TEXT = {".cfg", ".html", ".ini", ".json", ".lua", ".md", ".py", ".sh", ".toml", ".txt", ".yml", ""}

GATE = ROOT / ".ci" / "run"
FOLDERS_OF_A_MACHINE = re.compile(r"(?<![\w./:~$}-])/(?:home|root|tmp|work|Users|private|mnt)/\w")
"""Absolute paths that mean something to one machine only."""


def requirements(lines: list[str]) -> set[str]:
    """Names and extras, without versions and markers."""
    return {re.split(r"[<>=!;~ ]", line)[0] for line in lines}


def test_the_core_needs_two_packages() -> None:
    """A dependency is a promise for years; everything else is an extra."""
    assert requirements(PROJECT["dependencies"]) == {"redis[hiredis]", "msgspec"}


def test_every_dependency_has_a_lower_bound() -> None:
    for line in chain(PROJECT["dependencies"], *PROJECT["optional-dependencies"].values()):
        pinned = line in PROJECT["optional-dependencies"]["docs"] and "==" in line
        assert ">=" in line or pinned or line.startswith("holdfast["), line


def test_the_extras_are_those_promised() -> None:
    extras = PROJECT["optional-dependencies"]
    used = {"cli", "demo", "dev", "server", "web", "sql", "geo", "otel", "prometheus", "zstd"}
    used |= {"cron", "django", "fastapi", "sentry", "uvloop"}
    assert set(extras) == used | {"bench", "docs", "release", "test", "all"}
    [everything] = requirements(extras["all"])
    assert set(everything.removeprefix("holdfast[").removesuffix("]").split(",")) == used


def test_the_version_stands_in_one_place_of_the_code() -> None:
    """A second one would be forgotten at the next release."""
    code = [ROOT / "pyproject.toml", *modules()]
    assert len([path for path in code if f'"{holdfast.__version__}"' in path.read_text()]) == 1


def test_the_version_is_the_newest_of_the_changelog() -> None:
    newest = re.search(r"^## \[?(\d+\.\d+\.\d+)", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)
    assert newest
    assert newest[1] == holdfast.__version__


def test_the_package_is_typed() -> None:
    assert (PACKAGE / "py.typed").exists()
    assert "Typing :: Typed" in PROJECT["classifiers"]


@pytest.mark.parametrize("checker", ["mypy tests/typing", "basedpyright --project tests/typing"])
def test_two_checkers_read_the_typing_tests(checker: str) -> None:
    assert f"\t$(BIN)/{checker}\n" in (ROOT / "Makefile").read_text()


def test_unknown_types_fail_the_check() -> None:
    assert "\t$(BIN)/python tools/typed.py\n" in (ROOT / "Makefile").read_text()


@pytest.mark.parametrize("command", ["make check", "make test", "make test-slow"])
def test_the_gate_runs_what_people_run(command: str) -> None:
    assert re.search(rf"^{command}$", GATE.read_text(), re.MULTILINE)


def test_the_gate_runs_the_tests_of_django_on_any_python() -> None:
    assert "make django" in GATE.read_text()


def test_the_gate_can_be_started() -> None:
    assert GATE.read_text().startswith("#!")
    assert os.access(GATE, os.X_OK)


def test_the_test_command_of_the_readme_is_in_the_gate() -> None:
    assert re.search(r"^make test\b", (ROOT / "README.md").read_text(), re.MULTILINE)


TARGETS = [
    "demo",
    "test",
    "test-slow",
    "everywhere",
    "check",
    "sync",
    "docs",
    "bench",
    "faults",
    "faults-all",
    "soak",
    "pictures",
    "extras",
    "dist",
    "lowest",
    "django",
]


def test_the_makefile_has_the_targets() -> None:
    makefile = (ROOT / "Makefile").read_text()
    assert re.findall(r"^([a-z-]+): .*## \w", makefile, re.MULTILINE) == TARGETS


def texts() -> list[Path]:
    """Return every file that a user may read."""
    folders = ["src", "docs", "examples", "benchmarks", "tools", ".ci", ".github"]
    inside = [path for folder in folders for path in sorted((ROOT / folder).rglob("*"))]
    found = [*ROOT.glob("*.md"), ROOT / "Makefile", ROOT / "pyproject.toml", *inside]
    return [path for path in found if path.is_file() and path.suffix in TEXT]


def test_no_file_names_a_path_of_one_machine() -> None:
    found = {
        relative(path): FOLDERS_OF_A_MACHINE.findall(path.read_text(encoding="utf-8"))
        for path in texts()
    }
    assert {name: paths for name, paths in found.items() if paths} == {}


def test_the_lowest_versions_are_those_of_the_project() -> None:
    """`make lowest` installs them; each dependency of an application has one."""
    sys.path.append(str(ROOT / "tools"))
    lowest = importlib.import_module("lowest").constraints()
    assert "redis==6.2" in lowest
    assert "msgspec==0.21" in lowest
    named = {re.split(r"[=;]", line)[0] for line in lowest}
    used = set(PROJECT["optional-dependencies"]) - {"all", "bench", "docs", "release", "test"}
    wanted = requirements(
        [line for extra in used for line in PROJECT["optional-dependencies"][extra]]
    )
    assert {name.partition("[")[0] for name in wanted} - {"holdfast"} <= named
