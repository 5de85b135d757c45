"""Who may import what, and what importing may do: nothing."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from project.sources import BY_HAND, PACKAGE, imported, modules, relative, tree

WAITING = {"asyncio", "concurrent", "multiprocessing", "queue", "sched", "select", "threading"}
"""Modules that wait, or that run things side by side."""

RUNS_WHAT_IT_READS = {"dill", "cloudpickle", "jsonpickle", "marshal", "pickle", "shelve", "yaml"}
RUNS_TEXT = {"__import__", "compile", "eval", "exec"}

IMPORTS_BY_NAME = {
    "src/holdfast/__init__.py": "the module that `homes.py` names for a public name",
    "src/holdfast/cli/help.py": "the module of the command that is called",
    "src/holdfast/cli/target.py": "the module that the user of the command line named",
    "src/holdfast/cli/demo/examples.py": "the example that belongs to a demo",
    "src/holdfast/testing/__init__.py": "the module that it names for a public name of its own",
    "src/holdfast/testing/plugin.py": "only looks whether another plugin is installed",
    "src/holdfast/cli/demo/leash.py": "the module that a demo starts as a process",
    "src/holdfast/server/binary.py": "only looks whether the extra is installed",
}

IMPORT_EVERYTHING = """
import asyncio, atexit, importlib, logging, os, random, signal, socket, subprocess, sys, threading
import time, concurrent.futures, urllib.parse, uuid
import hiredis, maxminddb, msgspec, polars
import redis, redis.asyncio, redis.asyncio.sentinel, redis.sentinel
import opentelemetry.metrics, opentelemetry.trace, prometheus_client, prometheus_client.core
import starlette.applications, uvicorn, uvicorn.protocols.websockets.websockets_sansio_impl

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


@pytest.mark.parametrize(
    "path", modules(without=("cli", "inspect", "server", "testing", "web")), ids=relative
)
def test_only_the_seam_waits(path: Path) -> None:
    """Both halves stay the same text as long as no other file names asyncio or threads."""
    if path.parent not in BY_HAND:
        assert {name for name in imported(path) if name.partition(".")[0] in WAITING} == set()


def test_importing_does_nothing() -> None:
    """No connection, no thread, no clock, no hook, no random number: each of these raises here."""
    names = [
        ".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts).removesuffix(".__init__")
        for path in modules(without=("cli", "__main__.py"))
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
assert loaded() == {"homes", "version"}, loaded()
assert "redis" not in sys.modules

half, other = sys.argv[1:]
hf = getattr(holdfast, half).from_url("redis://localhost")
for block, use in {
    "locks": lambda: hf.lock("a"),
    "queues": lambda: hf.queue("a"),
    "messages": lambda: (hf.mailbox("a"), hf.chat("a"), hf.inbox("a")),
    "completions": lambda: (hf.recent("a"), hf.completions("a")),
    "counters": lambda: hf.counter("a"),
    "rows": lambda: hf.row_cache("a"),
    "files": lambda: hf.file_feed("a"),
    "tallies": lambda: hf.tally("a"),
}.items():
    before = loaded()
    use()
    assert loaded() - before == {block}, (block, loaded() - before)

of_the_other = [
    name for name in sys.modules
    if name.startswith("holdfast.") and name.endswith(other) and ".core." not in name
]
assert not of_the_other, of_the_other
"""


@pytest.mark.parametrize(("half", "other"), [("Holdfast", "._async"), ("AsyncHoldfast", "._sync")])
def test_a_block_is_loaded_when_it_is_used(half: str, other: str) -> None:
    """Importing loads none; a factory loads its own, and of that only what its half needs."""
    done = subprocess.run(
        [sys.executable, "-c", WHAT_IS_LOADED, half, other],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr


def risks(source: ast.Module) -> Iterator[str]:
    """Everything in a syntax tree that may run what it reads."""
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


@pytest.mark.parametrize("path", modules(), ids=relative)
def test_nothing_runs_or_imports_what_it_reads(path: Path) -> None:
    """No pickle, no eval, no import by name: data from a server is only ever data."""
    found = list(risks(tree(path)))
    if relative(path) in IMPORTS_BY_NAME:
        found = [name for name in found if not name.startswith(("importlib", "runpy"))]
    assert found == []


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
    """The rule above bites."""
    assert list(risks(ast.parse(line)))


def test_no_exception_is_left_without_its_file() -> None:
    """The list of exceptions names only files that need it."""
    for name in IMPORTS_BY_NAME:
        found = imported(PACKAGE.parents[1] / name)
        assert any(each.startswith(("importlib", "runpy")) for each in found), name
