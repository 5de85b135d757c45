"""`holdfast worker` as a program of its own, with the modules of a test."""

from __future__ import annotations

import re
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx

from cli.programs import clean
from faults.processes import Process
from faults.waiting import eventually

CHORES = """
import asyncio, time
from pathlib import Path
from holdfast import Retry, TaskRegistry

tasks = TaskRegistry()

@tasks.task(queue="chores")
def note(path: str, text: str) -> None:
    with Path(path).open("a") as file:
        file.write(text + "\\n")

@tasks.task(queue="chores")
async def block(seconds: float) -> None:
    time.sleep(seconds)

@tasks.task(queue="chores")
def wait_for(path: str) -> None:
    Path(path + ".awaited").touch()
    while not Path(path).exists():
        time.sleep(0.02)
"""


IN_FOLDER = """
import os, runpy, sys
os.chdir(sys.argv.pop(1))
sys.argv[0] = "holdfast"
runpy.run_module("holdfast", run_name="__main__")
"""


@contextmanager
def worker_program(
    folder: Path, url: str, *args: str, namespace: str = "", chores: str = CHORES, **env: str
) -> Iterator[Process]:
    """Run `holdfast worker chores:tasks` in *folder* until the end of the block."""
    if not (folder / "chores.py").exists():
        (folder / "chores.py").write_text(chores)
    where = ("--url", url, "--namespace", namespace or secrets.token_hex(4))
    argv = ("-c", IN_FOLDER, str(folder), "worker", "chores:tasks", *where, *args)
    with Process.python(*argv, name="worker", env={**clean(), **env}) as process:
        yield process


def page_url(process: Process, path: str) -> str:
    """Return the URL of a page that the worker has logged."""
    pattern = rf"(http://\S+{path})\b"
    found = eventually(lambda: re.search(pattern, process.output), reason=f"{path} is served")
    assert found
    return found[1]


def page(url: str) -> tuple[int, str]:
    """Return status and text of a page."""
    answer = httpx.get(url, timeout=60.0)
    return answer.status_code, answer.text


def page_becomes(url: str, status: int, contains: str = "") -> None:
    """Wait until a page has a status and a text."""

    def is_so() -> bool:
        found, text = page(url)
        return found == status and contains in text

    eventually(is_so, reason=f"{url} answers {status} {contains}")
