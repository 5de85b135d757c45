"""Where the files of the project are, and what they look like before anything runs."""

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "src" / "holdfast"
DEMOS = ROOT / "src" / "holdfast_demo"

CONCURRENCY = PACKAGE / "core" / "concurrency" / "_async"
BYTES = PACKAGE / "core" / "transport" / "_async"
BY_HAND = {half for path in (CONCURRENCY, BYTES) for half in (path, path.with_name("_sync"))}
"""Where the blocking half is not generated: how the halves wait, and how their bytes move."""


def relative(path: Path) -> str:
    """Return *path* relative to the project."""
    return path.relative_to(ROOT).as_posix()


@cache
def tree(path: Path) -> ast.Module:
    """Return the syntax tree of a Python file."""
    return ast.parse(path.read_text(encoding="utf-8"))


def modules(*, without: tuple[str, ...] = ()) -> list[Path]:
    """Return every Python file of the packages, except below the folders *without*."""
    demos = [] if DEMOS.name in without else sorted(DEMOS.rglob("*.py"))
    return demos + [
        path
        for path in sorted(PACKAGE.rglob("*.py"))
        if path.relative_to(PACKAGE).parts[0] not in without
    ]


def imported(path: Path) -> Iterator[str]:
    """Names of the modules that a file imports anywhere, relative imports left out."""
    for node in ast.walk(tree(path)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and not node.level and node.module:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def classes(path: Path) -> list[str]:
    """Names of the classes that a file defines at its top."""
    return [node.name for node in tree(path).body if isinstance(node, ast.ClassDef)]
