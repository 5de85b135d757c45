"""Who may import what, and what importing may do: nothing."""

import ast
import subprocess
import sys
import tomllib
from collections.abc import Iterator

import pytest

import holdfast
import holdfast.server
from project.sources import BY_HAND, DEMOS, PACKAGE, ROOT, imported, modules, relative, tree

WAITING = {"asyncio", "concurrent", "multiprocessing", "queue", "sched", "select", "threading"}
"""Modules that wait, or that run things side by side."""

RUNS_WHAT_IT_READS = {"dill", "cloudpickle", "jsonpickle", "marshal", "pickle", "shelve", "yaml"}
RUNS_TEXT = {"__import__", "compile", "eval", "exec"}

IMPORTS_BY_NAME = {
    "src/holdfast/exports.py": "the module of a public name",
    "src/holdfast/core/script.py": "the `keys.py` of the block of a script",
    "src/holdfast/queues/worker/registry_address.py": "the module of the tasks of the worker",
    "src/holdfast/django/found_tasks.py": "the modules of tasks that the settings name",
    "src/holdfast/django/management/commands/holdfast_worker.py": "only looks for the extra",
    "src/holdfast/cli/commands.py": "the module of the command that is called",
    "src/holdfast/cli/import_target.py": "the module that the user of the command line named",
    "src/holdfast_demo/example_files.py": "the example that belongs to a demo",
    "src/holdfast/testing/plugin.py": "only looks whether another plugin is installed",
    "src/holdfast_demo/child.py": "the module that a demo starts as a process",
    "src/holdfast/server/binary.py": "only looks whether the extra is installed",
}

IMPORT_EVERYTHING = """
import asyncio, atexit, importlib, logging, os, random, signal, socket, subprocess, sys, threading
import time, concurrent.futures, urllib.parse, uuid
import hiredis, maxminddb, msgspec, polars
import redis, redis.asyncio, redis.asyncio.sentinel, redis.sentinel, sqlalchemy.ext.compiler
import opentelemetry.metrics, opentelemetry.trace, prometheus_client, prometheus_client.core
import fastapi, starlette.applications, uvicorn, uvicorn.protocols.websockets.websockets_sansio_impl

def refuse(what):
    def refused(*args, **kwargs):
        raise AssertionError(f"{what} while holdfast is imported")
    return refused

for module, names in {
    atexit: ["register"],
    asyncio: ["new_event_loop", "run"],
    os: ["fork", "getenv", "getpid", "register_at_fork", "urandom"],
    signal: ["signal"],
    socket: ["create_connection", "getaddrinfo", "gethostname", "socket"],
    subprocess: ["Popen"],
    threading.Thread: ["start"],
    time: ["time", "time_ns", "monotonic", "monotonic_ns", "perf_counter", "sleep"],
}.items():
    for name in names:
        setattr(module, name, refuse(f"{module.__name__}.{name} was called"))

handlers = list(logging.getLogger().handlers)
for name in sys.argv[1:]:
    importlib.import_module(name)
assert logging.getLogger().handlers == handlers, "holdfast configured the logging of its user"
assert threading.active_count() == 1
"""


def test_only_concurrency_and_transport_wait() -> None:
    faces = ("cli", "django", "holdfast_demo", "inspect", "server", "testing", "web")
    library = modules(without=faces)
    assert [
        (relative(path), name)
        for path in library
        if not any(path.is_relative_to(half.parent) for half in BY_HAND)
        for name in imported(path)
        if name.partition(".")[0] in WAITING
    ] == []


def test_each_block_is_in_the_import_contracts() -> None:
    """The floors must list all packages. The other contracts list blocks by name."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]
    listed = {
        each["name"]: {*each["source_modules"], *each["forbidden_modules"]}
        for each in settings["contracts"]
        if each["type"] == "forbidden"
    }
    blocks = {f"holdfast.{path.parent.name}" for path in PACKAGE.glob("*/keys.py")}
    assert len(blocks) >= 11
    assert {name: blocks - known for name, known in listed.items() if blocks - known} == {}


def test_importing_does_nothing() -> None:
    names = [
        ".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts).removesuffix(".__init__")
        for path in modules(without=("cli", "django", "holdfast_demo", "__main__.py"))
    ]
    done = subprocess.run(
        [sys.executable, "-c", IMPORT_EVERYTHING, *names],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr


WHAT_IS_LOADED = """
import sys

def loaded():
    parts = [name.split(".") for name in sys.modules]
    return {part[1] for part in parts if part[0] == "holdfast" and len(part) > 1}

import holdfast
assert loaded() == {"exports", "version"}, loaded()
assert "redis" not in sys.modules

half, other = sys.argv[1:]
hf = getattr(holdfast, half).from_url("redis://localhost")
for block, use in {
    "locks": lambda: hf.lock("a"),
    "queues": lambda: hf.queue("a"),
    "messages": lambda: (hf.mailbox("a"), hf.chat("a"), hf.inbox("a")),
    "completions": lambda: (hf.recent("a"), hf.completions("a")),
    "idempotency": lambda: hf.idempotency("a"),
    "limits": lambda: hf.rate_limit("a", holdfast.Limit(1, per=1.0)),
    "counters": lambda: hf.counter("a"),
    "rows": lambda: hf.row_cache("a"),
    "files": lambda: hf.file_feed("a"),
    "tallies": lambda: hf.tally("a"),
    "cache": lambda: hf.cached(ttl=1),
}.items():
    before = loaded()
    use()
    assert loaded() - before == {block}, (block, loaded() - before)

of_the_other = [
    name for name in sys.modules
    if name.startswith("holdfast.") and f"{other}." in name and ".core." not in name
]
assert not of_the_other, of_the_other
"""


@pytest.mark.parametrize(("half", "other"), [("Holdfast", "._async"), ("AsyncHoldfast", "._sync")])
def test_a_block_is_loaded_when_it_is_used(half: str, other: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", WHAT_IS_LOADED, half, other],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr


PUBLIC = {"holdfast": holdfast.__all__, "holdfast.server": holdfast.server.__all__}


def private_names(source: ast.Module) -> Iterator[str]:
    """Yield what a file imports from the package but for its public names."""
    for node in ast.walk(source):
        match node:
            case ast.Import(names=names):
                yield from (each.name for each in names if each.name.startswith("holdfast."))
            case ast.ImportFrom(module=str(module), names=names, level=0):
                if module.partition(".")[0] == "holdfast":
                    public = PUBLIC.get(module, ())
                    yield from (f"{module}.{n.name}" for n in names if n.name not in public)


def test_the_demos_use_only_public_names() -> None:
    """They are a user of the library like any other."""
    files = sorted(DEMOS.rglob("*.py"))
    assert files
    assert [(relative(path), name) for path in files for name in private_names(tree(path))] == []


@pytest.mark.parametrize(
    "line",
    [
        "import holdfast.core.names",
        "from holdfast.queues.keys import tasks",
        "from holdfast import homes",
        "from holdfast.server import binary",
    ],
)
def test_a_private_name_is_found(line: str) -> None:
    """The rule above bites."""
    assert list(private_names(ast.parse(line)))


def risks(source: ast.Module) -> Iterator[str]:
    """Yield the code in a syntax tree that may run data as code."""
    for node in ast.walk(source):
        match node:
            case ast.Call(func=ast.Name(id=name)) if name in RUNS_TEXT:
                yield f"{name}()"
            case ast.Attribute(value=ast.Name(id="builtins"), attr=name) if name in RUNS_TEXT:
                yield f"builtins.{name}"
            case ast.Import(names=names):
                yield from (alias.name for alias in names if _is_risky(alias.name))
            case ast.ImportFrom(module=str(module), names=names, level=0):
                found = [module, *(f"{module}.{alias.name}" for alias in names)]
                yield from filter(_is_risky, found[1:] if module == "importlib" else found)


def _is_risky(module: str) -> bool:
    first, _, rest = module.partition(".")
    if first == "importlib":
        return not rest.startswith(("resources", "metadata"))
    return first in {*RUNS_WHAT_IT_READS, "runpy"}


def test_nothing_runs_or_imports_what_it_reads() -> None:
    found = [(relative(path), risk) for path in modules() for risk in risks(tree(path))]
    assert [
        (file, risk)
        for file, risk in found
        if file not in IMPORTS_BY_NAME or not risk.startswith(("importlib", "runpy"))
    ] == []


@pytest.mark.parametrize(
    "line",
    [
        "import pickle",
        "from marshal import loads",
        "eval(text)",
        "import importlib",
        "from importlib import import_module",
        "import importlib.util",
        "import yaml.loader",
        "builtins.exec(text)",
    ],
)
def test_what_runs_what_it_reads_is_found(line: str) -> None:
    assert list(risks(ast.parse(line)))


def test_no_exception_is_left_without_its_file() -> None:
    """The list of exceptions names only files that need it."""
    for name in IMPORTS_BY_NAME:
        found = imported(PACKAGE.parents[1] / name)
        assert any(each.startswith(("importlib", "runpy")) for each in found), name
