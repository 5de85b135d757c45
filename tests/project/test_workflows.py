"""The workflows run what people run, are pinned, and have no more rights than they need."""

import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml

from project.sources import ROOT

GITHUB = ROOT / ".github"
WORKFLOWS = sorted((GITHUB / "workflows").glob("*.yml"))
FORMS = sorted(
    set((GITHUB / "ISSUE_TEMPLATE").glob("*.yml")) - {GITHUB / "ISSUE_TEMPLATE/config.yml"}
)
GATE = (ROOT / ".ci" / "run").read_text()
TARGETS = re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE)
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
MAKE = re.compile(r"\bmake ([a-z-]+)")
COMMAND = re.compile(r"^(?:if .* then )?(make [a-z-]+|\.ci/\w+)", re.MULTILINE)

SCHEMAS = {
    "github-workflows": WORKFLOWS,
    "github-issue-forms": FORMS,
    "github-issue-config": [GITHUB / "ISSUE_TEMPLATE" / "config.yml"],
    "dependabot": [GITHUB / "dependabot.yml"],
    "citation-file-format": [ROOT / "CITATION.cff"],
}


def workflow(path: Path) -> dict[str, Any]:
    content: dict[str, Any] = yaml.safe_load(path.read_text())
    return content


def steps(path: Path) -> list[dict[str, Any]]:
    return [step for job in workflow(path)["jobs"].values() for step in job["steps"]]


def commands(path: Path) -> list[str]:
    return [step["run"] for step in steps(path) if "run" in step]


def actions() -> list[str]:
    """Return what stands behind `uses:`, with the comment."""
    return [
        line.partition("uses:")[2].strip()
        for path in WORKFLOWS
        for line in path.read_text().splitlines()
        if "uses:" in line
    ]


def test_there_are_workflows() -> None:
    assert [path.stem for path in WORKFLOWS] == ["ci", "docs", "release"]
    assert len(FORMS) == 2


def test_the_workflow_runs_all_that_the_gate_runs() -> None:
    """The tests of Django are among those of the newer Pythons."""
    *gate, django = COMMAND.findall(GATE)
    assert gate == [".ci/install", "make check", "make docs", "make test", "make test-slow"]
    assert django == "make django"
    assert set(gate) <= set(commands(GITHUB / "workflows" / "ci.yml"))


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_a_workflow_uses_the_targets_of_the_makefile(path: Path) -> None:
    used = MAKE.findall("\n".join(commands(path)))
    assert used
    assert [target for target in used if target not in TARGETS] == []


def test_programs_that_workflows_start_exist() -> None:
    named = {
        program
        for path in WORKFLOWS
        for command in commands(path)
        for program in re.findall(r"(?:tools|tests|\.ci)/[\w/]+(?:\.py)?", command)
    }
    assert named
    assert [program for program in named if not (ROOT / program).exists()] == []


def test_every_supported_python_is_tested() -> None:
    jobs = workflow(GITHUB / "workflows" / "ci.yml")["jobs"]
    supported = re.findall(r"Python :: (3\.\d+)", "\n".join(PROJECT["classifiers"]))
    assert jobs["python"]["strategy"]["matrix"]["python"] == supported
    assert PROJECT["requires-python"] == f">={supported[0]}"


def test_actions_are_pinned_by_commit_and_version() -> None:
    used = set(actions())
    assert [action for action in used if not re.search(r"@[0-9a-f]{40} # v\d", action)] == []
    assert len(used) == len({action.partition("@")[0] for action in used})  # one pin for each


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_rights_are_given_to_single_jobs(path: Path) -> None:
    content = workflow(path)
    assert content["permissions"] == {}
    for name, job in content["jobs"].items():
        rights = set(job["permissions"].items()) - {("contents", "read")}
        assert not rights or "make" not in str(job["steps"]), name  # no code of ours runs with them
        assert job["timeout-minutes"] <= 60


def test_zizmor_finds_nothing() -> None:
    program = Path(sys.executable).with_name("zizmor")
    options = ["--offline", "--no-progress", "--persona=pedantic"]
    done = subprocess.run([program, *options, GITHUB], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("schema", SCHEMAS)
def test_the_files_follow_their_schemas(schema: str) -> None:
    program = Path(sys.executable).with_name("check-jsonschema")
    command = [program, "--builtin-schema", f"vendor.{schema}", *SCHEMAS[schema]]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_scripts_of_the_gate_are_valid() -> None:
    bash = shutil.which("bash")
    assert bash
    for script in (ROOT / ".ci").iterdir():
        assert script.stat().st_mode & 0o100
        subprocess.run([bash, "-n", script], check=True)
