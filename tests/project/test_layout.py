"""Every block has its files, its factory and its exports; what is missing is said in words."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import holdfast
from conftest import IN_ONE_PROCESS, THOROUGH
from project.sources import BY_HAND, CONCURRENCY, PACKAGE, ROOT, classes, modules, relative, tree
from slow_files import SLOW_FILES, SLOW_FOLDERS

KEY_TYPES = ("HASH", "LIST", "SET", "STREAM", "STRING", "ZSET")


def blocks() -> list[Path]:
    """Return the folders of the blocks: the packages in `holdfast` with a `keys.py`."""
    return sorted(path.parent for path in PACKAGE.glob("*/keys.py"))


def problems(block: Path) -> Iterator[str]:
    for name, purpose in {
        "__init__.py": "it makes the folder a package",
        "keys.py": "every key: type, content, lifetime",
        "audit.py": "what has to hold between them",
        "_async/__init__.py": "the folder of the block itself",
        "_sync/__init__.py": "the folder of its blocking half: run `make sync`",
    }.items():
        if not (block / name).is_file():
            yield f"{block.name}/{name} is missing: {purpose}"
    if not list(block.glob("lua/*.lua")):
        yield f"{block.name}/lua/ holds no script: one atomic step per file"
    if not list((ROOT / "tests" / block.name).glob("test_*.py")):
        yield f"tests/{block.name}/ holds no test"
    if (block / "_async").is_dir():
        yield from _factory_problems(block)


def _factory_problems(block: Path) -> Iterator[str]:
    defined = {name for path in block.glob("_async/*.py") for name in classes(path)}
    made = {name for name in returned_by_the_client() if name in defined}
    if not made:
        yield f"AsyncHoldfast has no factory for {block.name}: a method that returns its class"
    for name in sorted(made):
        for half in (name, name.removeprefix("Async")):
            if half not in holdfast.__all__:
                yield f"{half} is returned to users, so `holdfast` must export it"


def returned_by_the_client() -> set[str]:
    """Names of the classes in the annotations of what `AsyncHoldfast` returns."""
    methods = [
        node
        for part in tree(PACKAGE / "client" / "_async" / "client.py").body
        if isinstance(part, ast.ClassDef)
        for node in part.body
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    ]
    return {
        node.id
        for method in methods
        if method.returns is not None and not method.name.startswith("_")
        for node in ast.walk(method.returns)
        if isinstance(node, ast.Name)
    }


def test_there_are_blocks() -> None:
    """A search that finds nothing would find nothing missing either."""
    assert "queues" in [block.name for block in blocks()]


@pytest.mark.parametrize("block", blocks(), ids=lambda block: block.name)
def test_a_block_is_complete(block: Path) -> None:
    assert list(problems(block)) == []


def test_what_is_missing_is_reported_in_words(tmp_path: Path) -> None:
    block = tmp_path / "gadgets"
    block.mkdir()
    (block / "keys.py").touch()
    (block / "_async").mkdir()
    (block / "_async" / "gadget.py").write_text("class AsyncGadget: ...\n")
    assert list(problems(block)) == [
        "gadgets/__init__.py is missing: it makes the folder a package",
        "gadgets/audit.py is missing: what has to hold between them",
        "gadgets/_async/__init__.py is missing: the folder of the block itself",
        "gadgets/_sync/__init__.py is missing: the folder of its blocking half: run `make sync`",
        "gadgets/lua/ holds no script: one atomic step per file",
        "tests/gadgets/ holds no test",
        "AsyncHoldfast has no factory for gadgets: a method that returns its class",
    ]


@pytest.mark.parametrize("block", blocks(), ids=lambda block: block.name)
def test_every_key_says_its_type(block: Path) -> None:
    """`keys.py` is the map of what lies on the server: one function per key, type first."""
    for node in tree(block / "keys.py").body:
        if isinstance(node, ast.FunctionDef):
            first = (ast.get_docstring(node) or "nothing").split()[0]
            assert first in KEY_TYPES, f"{block.name}/keys.py: {node.name} begins with {first!r}"


HALVES = [path for path in modules() if path.parent.name == "_async" and path.parent not in BY_HAND]


def test_classes_of_the_asyncio_half_are_named_so() -> None:
    """Values and errors live outside: in here they would exist twice, and not be the same."""
    found = [(relative(path), name) for path in HALVES for name in classes(path)]
    assert [each for each in found if not each[1].startswith(("Async", "_"))] == []


def test_the_blocking_half_is_generated() -> None:
    def is_generated(path: Path) -> bool:
        twin = path.parent.with_name("_sync") / path.name
        header = f"# Generated from _async/{path.name} by tools/unasync"
        return twin.is_file() and twin.read_text().startswith(header)

    written = [path for path in HALVES if path.name != "__init__.py"]
    assert written
    assert [relative(path) for path in written if not is_generated(path)] == []


def test_the_two_seams_have_the_same_names() -> None:
    def names(path: Path) -> set[str]:
        found: set[str] = set()
        for node in tree(path).body:
            match node:
                case ast.ClassDef() | ast.FunctionDef() | ast.AsyncFunctionDef():
                    found.add(node.name)
                case ast.Assign(targets=[ast.Name(id=name)]):
                    found.add(name)
                case ast.AnnAssign(target=ast.Name(id=name)):
                    found.add(name)
        return found

    blocking: dict[str, set[str]] = {}
    for path in CONCURRENCY.with_name("_sync").glob("*.py"):
        blocking[path.stem] = names(path)
        assert blocking[path.stem] - names(CONCURRENCY / path.name) == set()
    generated = [
        path for path in modules() if path.parent.name == "_sync" and path.parent not in BY_HAND
    ]
    used = {
        (node.module.rpartition(".")[2], alias.name)
        for path in generated
        for node in ast.walk(tree(path))
        if isinstance(node, ast.ImportFrom) and "concurrency._sync." in (node.module or "")
        for alias in node.names
        if node.module is not None
    }
    assert ("primitives", "Event") in used
    assert [(module, name) for module, name in used if name not in blocking[module]] == []


def test_every_module_says_what_it_is_for() -> None:
    silent = [path for path in modules() if not ast.get_docstring(tree(path))]
    assert [
        relative(path) for path in silent if path.name != "__init__.py" or path.read_text()
    ] == []


LONGEST_FILE = 400
LONGER_FILES = {"client.py": 1250}
"""The client has a method for each thing that a user can ask for; most lines are docstrings."""
LONGEST_FUNCTION = 60


def too_long(path: Path) -> Iterator[str]:
    """Yield what is too long in a file: the file itself, and functions."""
    longest = LONGER_FILES.get(path.name, LONGEST_FILE) if "client" in path.parts else LONGEST_FILE
    if (lines := len(path.read_text().splitlines())) > longest:
        yield f"{relative(path)} has {lines} lines"
    for node in ast.walk(tree(path)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            start = node.body[1] if ast.get_docstring(node) and node.body[1:] else node.body[0]
            lines = (node.body[-1].end_lineno or 0) - start.lineno + 1
            if lines > LONGEST_FUNCTION:
                yield f"{relative(path)}: {node.name} takes {lines} lines"


def test_files_and_functions_stay_short() -> None:
    assert [problem for path in modules() for problem in too_long(path)] == []


@pytest.mark.parametrize("table", [THOROUGH, IN_ONE_PROCESS, SLOW_FILES, SLOW_FOLDERS])
def test_the_tables_of_test_files_name_what_exists(table: set[str]) -> None:
    tests = ROOT / "tests"
    folders = {path.name for path in tests.rglob("*") if path.is_dir()}
    files = {path.relative_to(tests).with_suffix("") for path in tests.rglob("test_*.py")}
    whole = {re.sub("_(a?sync)$", "", str(path)) for path in files}
    assert table - folders - whole - {name.rpartition("/")[2] for name in whole} == set()
