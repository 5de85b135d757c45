"""The prose of the project is plain: no words that it avoids, docstrings begin with a verb."""

from __future__ import annotations

import ast
from collections import defaultdict
from pathlib import Path

import pytest

from project.language import files, remarks
from project.sources import PACKAGE, ROOT, relative, tree

DEMO = ROOT / "src" / "holdfast_demo"
FOLDERS = [PACKAGE, DEMO, ROOT / "tests", ROOT / "tools", ROOT / "benchmarks", ROOT / "examples"]
PAGES = [
    *(page for page in sorted(ROOT.glob("*.md")) if page.name != "CHANGELOG.md"),
    *sorted((ROOT / ".github").rglob("*.md")),
    *sorted((ROOT / "docs").rglob("*.md")),
]


@pytest.mark.parametrize("folder", FOLDERS, ids=relative)
def test_prose_is_plain(folder: Path) -> None:
    """Docstrings, comments, Lua headers, errors and pages."""
    assert [str(each) for path in files(folder) for each in remarks(path)] == []


def test_pages_are_plain() -> None:
    assert [str(each) for page in PAGES for each in remarks(page)] == []


def test_what_is_not_plain_is_found(tmp_path: Path) -> None:
    """In each kind of prose, and not in code."""
    file = tmp_path / "sample.py"
    file.write_text(
        '''"""Values that nobody reads."""

def first():
    """Whether it holds."""
    raise ValueError("this was told to the wrong caller")

def second():
    """Return `nobody`, or else fail."""  # whoever calls it

def third():
    """Return "whose" as it is.

    Args:
        named: for whom it is.
    """

def test_somebody_asks():
    return whose
'''
    )
    assert [(each.line, each.text.partition(":")[0]) for each in remarks(file)] == [
        (3, "first"),
        (8, "'whoever'"),
        (1, "'nobody'"),
        (8, "'or else'"),
        (11, "'whom'"),
        (5, "'told'"),
        (17, "'somebody'"),
    ]
    script = tmp_path / "sample.lua"
    script.write_text("-- Drop it, else nobody can.\nlocal tell = 1\n")
    assert len([*remarks(script)]) == 2
    page = tmp_path / "sample.md"
    page.write_text(
        "# Whose\n\n```sh\necho nobody\n```\n\nSee `told` in [that](whose.md), likewise.\n"
    )
    assert [each.line for each in remarks(page)] == [1, 7]


def test_a_class_name_has_one_meaning() -> None:
    """In all files that are written by hand; `AsyncLock` and `Lock` are one, as are `_Lock`."""
    places: dict[str, set[str]] = defaultdict(set)
    for path in files(PACKAGE, DEMO):
        for node in ast.walk(tree(path)) if path.suffix == ".py" else ():
            if isinstance(node, ast.ClassDef) and node.name != "Meta":  # Django requires this name
                places[node.name.lstrip("_").removeprefix("Async")].add(relative(path))
    assert {name: where for name, where in places.items() if len(where) > 1} == {}
