"""The processes of a folder: its users, its supervisor and its server."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import IO, cast

import pytest

from faults.waiting import eventually

linux_only = pytest.mark.skipif(sys.platform != "linux", reason="looks for processes in /proc")

STAY = """
import sys
from holdfast.server import EmbeddedServer
server = EmbeddedServer.open(sys.argv[1] or None)
print(server.folder, flush=True)
sys.stdin.read()
server.close()
"""


class Process:
    """A Python process that runs a script and says what it does line by line."""

    def __init__(self, script: str, *arguments: str | Path) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-c", script, *map(str, arguments)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self.pid = self._process.pid

    def line(self) -> str:
        """Return the next line of its output; empty when it has ended."""
        return cast("IO[str]", self._process.stdout).readline().strip()

    def rest(self) -> list[str]:
        """Return all further lines; wait for its end, and check its exit code."""
        output, _ = self._process.communicate(timeout=100)
        assert self._process.returncode == 0
        return output.split()

    def kill(self) -> None:
        """Kill it, as `kill -9` does."""
        self._process.kill()
        self._process.wait()

    def __enter__(self) -> Process:
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()
        cast("IO[str]", self._process.stdin).close()
        cast("IO[str]", self._process.stdout).close()


def user_of(folder: Path | None) -> Process:
    """Start a process that has *folder* open until its standard input ends."""
    return Process(STAY, folder or "")


def supervisor_of(folder: Path | str) -> int:
    """Return the process id of the supervisor."""
    return next(pid for pid in living_in(folder) if b"supervisor.py" in _command(pid))


def server_of(folder: Path | str) -> int:
    """Return the process id of the server."""
    return next(pid for pid in living_in(folder) if b"-server" in _command(pid).split(b"\0")[0])


def kill(*pids: int) -> None:
    """Kill them in this order, as `kill -9` does, and wait until they are dead."""
    for pid in pids:
        os.kill(pid, signal.SIGKILL)
    eventually(lambda: all(_is_dead(pid) for pid in pids))


def living_in(folder: Path | str) -> list[int]:
    """Return the processes with *folder* as working directory: supervisor and server."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            where = (process / "cwd").readlink()
        except OSError:
            continue  # It has just ended, or is not ours.
        if str(where).removesuffix(" (deleted)") == os.path.realpath(folder):
            found.append(int(process.name))
    return found


def _is_dead(pid: int) -> bool:
    """Return whether the process has ended; it may still be a zombie."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except OSError:
        return True


def _command(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return b""
