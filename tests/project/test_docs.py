"""The docs are true: examples run, links lead somewhere, tables match the code."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from holdfast import acl_rule

ROOT = Path(__file__).resolve().parents[2]
SOURCE = ROOT / "src"
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
EXAMPLES = [
    (page, number, code)
    for page in PAGES
    for number, code in enumerate(re.findall(r"```python\n(.*?)```", page.read_text(), re.DOTALL))
]


@pytest.mark.parametrize(
    ("page", "number", "code"), EXAMPLES, ids=[f"{page.stem}-{n}" for page, n, _ in EXAMPLES]
)
def test_every_python_example_runs(page: Path, number: int, code: str, tmp_path: Path) -> None:
    for _, _, other in [example for example in EXAMPLES if example[0] == page]:
        if named := re.match(r"# (\w+\.py)\n", other):
            (tmp_path / named[1]).write_text(other)
    script = tmp_path / f"{page.stem}_{number}.py"
    script.write_text(code)
    result = subprocess.run(
        [sys.executable, "-W", "error", script],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=110,
        check=False,
    )
    assert result.returncode == 0, result.stderr


@pytest.fixture(scope="module")
def examples(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with every Python example in a file."""
    folder = tmp_path_factory.mktemp("examples")
    for page, number, code in EXAMPLES:
        named = re.match(r"# (\w+\.py)\n", code)
        name = named[1] if named else f"{page.stem.replace('-', '_')}_{number}.py"
        (folder / name).write_text(code)
    assert len(list(folder.glob("*.py"))) == len(EXAMPLES), "two examples have the same name"
    return folder


def test_mypy_accepts_the_python_examples(examples: Path) -> None:
    result = subprocess.run(
        [sys.executable, "-m", "mypy", "--config-file", "pyproject.toml", "--strict", examples],
        cwd=ROOT,
        env={**os.environ, "MYPYPATH": str(examples)},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert result.returncode == 0, result.stdout


def test_pyright_accepts_the_python_examples(examples: Path) -> None:
    """basedpyright is pyright with its own JavaScript runtime; `strict` is the mode of both."""
    settings = {"typeCheckingMode": "strict", "pythonVersion": "3.11", "extraPaths": [str(SOURCE)]}
    (examples / "pyrightconfig.json").write_text(json.dumps(settings))
    command = [sys.executable, "-m", "basedpyright", "--pythonpath", sys.executable]
    result = subprocess.run(
        [*command, "--project", examples / "pyrightconfig.json"],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert result.returncode == 0, result.stdout


def test_every_local_link_leads_somewhere() -> None:
    links = [
        (page, *link)
        for page in PAGES
        for link in re.findall(r"\]\((?!https?://)([^)#]*)#?([^)]*)\)", page.read_text())
    ]
    assert links
    assert [link for link in links if not leads_somewhere(*link)] == []


def leads_somewhere(page: Path, file: str, heading: str) -> bool:
    target = page.parent / file if file else page
    return target.exists() and (not heading or heading in headings(target))


def headings(page: Path) -> set[str]:
    found = re.findall(r"^#+ (.+)$", page.read_text(), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", title.lower()).replace(" ", "-") for title in found}


def test_the_acl_rule_in_the_docs_is_the_one_that_is_tested() -> None:
    assert acl_rule("fakegame") in (ROOT / "docs/operations.md").read_text()
