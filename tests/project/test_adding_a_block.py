"""The steps of "Adding a block" in CONTRIBUTING.md are complete: a block made by them works.

The folder `new_block` holds the files of the block `gadgets`, each with `.txt` behind its name, and
`edits.toml`, the changes of existing files. The test makes these changes in a copy of the project.
"""

import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from project.sources import ROOT

NEW_BLOCK = ROOT / "tests" / "project" / "new_block"
FILES = {path: path.relative_to(NEW_BLOCK).as_posix()[:-4] for path in NEW_BLOCK.rglob("*.txt")}
EDITS = tomllib.loads((NEW_BLOCK / "edits.toml").read_text())["edit"]
pytestmark = pytest.mark.timeout(600)  # each runs tools over a copy of the whole project
COPIED = ("CONTRIBUTING.md", "README.md", "pyproject.toml", "docs", "src", "tests", "tools")


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Copy the project, and add the block to the copy."""
    root = tmp_path_factory.mktemp("project")
    for name in COPIED:
        if (ROOT / name).is_dir():
            ignored = shutil.ignore_patterns("__pycache__", ".*_cache", "*.png")
            shutil.copytree(ROOT / name, root / name, ignore=ignored)
        else:
            shutil.copy(ROOT / name, root / name)
    for source, name in FILES.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(source, root / name)
    for edit in EDITS:
        path = root / edit["file"]
        before, after, rest = path.read_text().partition(edit["after"])
        assert after, f"{edit['file']} has no line {edit['after']!r}: change edits.toml"
        path.write_text(before + after + edit["text"].removeprefix("\n") + rest)
    for tool in ("tools/unasync.py", "tools/reference"):
        assert run(root, tool) == 0
    return root


def run(root: Path, *arguments: str) -> int:
    """Run Python in the copy; return its exit code."""
    path = os.pathsep.join([str(root / "src"), str(root / "tests")])
    env = os.environ | {"PYTHONPATH": path, "PYTEST_ADDOPTS": ""}
    done = subprocess.run([sys.executable, *arguments], cwd=root, env=env, check=False)
    return done.returncode


def test_the_block_keeps_the_rules(copy: Path) -> None:
    """Those of layout, Lua headers, public names and imports."""
    rules = [f"tests/project/test_{name}.py" for name in ("layout", "lua", "exports", "imports")]
    chosen = ("-k", "not importing_does_nothing and not a_rule_bites and not what_is_missing")
    assert run(copy, "-m", "pytest", "-q", "-p", "no:cacheprovider", *chosen, *rules) == 0
    assert run(copy, "-m", "ruff", "check", "-q", "src/holdfast/gadgets", "tests/gadgets") == 0


def test_the_block_is_documented(copy: Path) -> None:
    """From its docstrings and its `keys.py`."""
    assert "## Gadget\n" in (copy / "docs" / "reference" / "gadgets.md").read_text()
    assert "| `presses` | STRING |" in (copy / "docs" / "keys.md").read_text()


def test_the_block_works_on_a_real_server(copy: Path) -> None:
    """In both halves: its own tests run."""
    tests = ["tests/gadgets/test_gadgets_async.py", "tests/gadgets/test_gadgets_sync.py"]
    options = ("-q", "-p", "no:cacheprovider", "--topology", "restricted")
    assert run(copy, "-m", "pytest", *options, *tests) == 0


def test_contributing_lists_every_step() -> None:
    """Every file that the block adds or changes, with BLOCK for its name."""
    section = (ROOT / "CONTRIBUTING.md").read_text().partition("## Adding a block")[2]
    named = set(re.findall(r"`([\w./]+)`", section.partition("\n## ")[0]))
    needed = {*FILES.values(), *(edit["file"] for edit in EDITS)}
    steps = {re.sub("gadgets", "BLOCK", name) for name in needed}
    steps = {re.sub(r"(?<=/)gadget(?=\.py)|press(?=\.lua)", "NAME", name) for name in steps}
    assert sorted(steps - named) == []
