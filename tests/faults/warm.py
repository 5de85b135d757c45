"""Python programs that start at once: forks of a process that has done the imports already.

A test run starts a thousand programs; most of the cost of each is the import of the same modules.
Each test worker imports them once, in `python -m faults.warm FD`, which reads commands from a
socket: `fork` a program, or report how one `ended`. A program has its own arguments, environment,
folder and standard streams. Importing Holdfast does nothing but define its names (see
`tests/project/test_imports.py`), so the fork behaves as a program that imports it. Linux only.
"""

from __future__ import annotations

import atexit
import ctypes
import faulthandler
import fcntl
import gc
import importlib
import io
import json
import os
import random
import runpy
import select
import signal
import socket
import subprocess
import sys
import termios
import threading
import types
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path
from typing import Any, Final

from faults.mortal import PR_SET_PDEATHSIG

LIBRARIES: Final = (
    *("msgspec", "redis.asyncio", "redis.sentinel", "redis.cluster"),
    *("typer", "rich.live", "rich.table"),
    *("holdfast.client._async.client", "holdfast.client._sync.client", "holdfast.cli.worker"),
    *("holdfast.queues._async.queue", "holdfast.queues._sync.queue", "holdfast.locks._sync.lock"),
)
"""Modules that most programs import."""
OF_THE_INTERPRETER: Final = ("PYTHON", "LD_")
BUT: Final = {"PYTHONFAULTHANDLER", "PYTHONPATH", "PYTHONUNBUFFERED"}
LONGEST = 2**20
"""Most bytes of a command."""


class Child:
    """A program, with the interface of `subprocess.Popen`."""

    def __init__(self, fork_server: _ForkServer, pid: int) -> None:
        self.pid = pid
        self.returncode: int | None = None
        self._fork_server = fork_server
        self._handle = os.pidfd_open(pid)  # the pid is not reused before its end was read

    def poll(self) -> int | None:
        """Return the exit status; None while it runs."""
        return self._ended(0)

    def wait(self, timeout: float | None = None) -> int:
        """Wait for the end, and return the exit status.

        Raises:
            subprocess.TimeoutExpired: it still runs.
        """
        code = self._ended(timeout)
        if code is None:
            raise subprocess.TimeoutExpired(str(self.pid), timeout or 0.0)
        return code

    def send_signal(self, number: int) -> None:
        """Send a signal, unless it has ended."""
        if self.poll() is None:
            signal.pidfd_send_signal(self._handle, number)

    def kill(self) -> None:
        """End it by SIGKILL."""
        self.send_signal(signal.SIGKILL)

    def _ended(self, timeout_s: float | None) -> int | None:
        if self.returncode is None:
            poller = select.poll()
            poller.register(self._handle, select.POLLIN)
            if poller.poll(None if timeout_s is None else 1000 * timeout_s):
                with self._fork_server.lock:
                    if self.returncode is None:
                        self.returncode = self._fork_server.request([], do="ended", pid=self.pid)
                        os.close(self._handle)
        return self.returncode


class _ForkServer:
    """The process that forks, seen from the tests."""

    def __init__(self) -> None:
        self.lock = threading.RLock()
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        runner = [sys.executable, "-I", "-S", str(Path(__file__).with_name("mortal.py"))]
        program = [sys.executable, "-m", __spec__.name, str(theirs.fileno())]
        path = os.pathsep.join(filter(None, [str(Path(__file__).parents[1]), _path(os.environ)]))
        with theirs:
            self._process = subprocess.Popen(
                [*runner, str(os.getpid()), *program],
                env=os.environ | {"PYTHONPATH": path},
                pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL,
            )
        self._line = ours

    def request(self, fds: Sequence[int], **order: Any) -> Any:
        """Send it a command. Return its answer."""
        with self.lock:
            socket.send_fds(self._line, [json.dumps(order).encode()], fds)
            if answer := self._line.recv(LONGEST):
                return json.loads(answer)
        raise RuntimeError(f"the process that starts programs has ended: {self._process.wait()}")

    def close(self) -> None:
        """End it; its children end with it."""
        self._line.close()
        self._process.wait()


# The kernel ends a child with the *thread* that started it, so one that stays starts this one.
_starter = ThreadPoolExecutor(max_workers=1, thread_name_prefix="fork_server")


@cache
def _fork_server() -> _ForkServer:
    fork_server = _ForkServer()
    atexit.register(fork_server.close)
    return fork_server


def can_start(args: Sequence[str], env: Mapping[str, str]) -> bool:
    """Return whether such a program can be started: its interpreter is that of the tests."""
    changed = {name for name, value in env.items() ^ os.environ.items()} - BUT
    return (
        sys.platform == "linux"
        and bool(args)
        and (args[0] in ("-c", "-m") or not args[0].startswith("-"))
        and not any(name.startswith(OF_THE_INTERPRETER) for name in changed)
    )


def start(
    args: Sequence[str],
    *,
    env: Mapping[str, str],
    streams: Sequence[int],
    cwd: Path | None = None,
    terminal: bool = False,
) -> Child:
    """Start `python *args`. It ends with the test worker.

    Args:
        args: `-c`, `-m` or a path, and what follows it.
        env: its whole environment.
        streams: what it reads, and where its output and its errors go.
        cwd: its folder.
        terminal: whether its streams are a terminal, which is to be its own.
    """
    fork_server = _starter.submit(_fork_server).result()
    about = {"args": args, "env": dict(env), "cwd": str(cwd or Path.cwd()), "terminal": terminal}
    return Child(fork_server, fork_server.request(streams, do="fork", **about))


def main(fd: str) -> None:
    """Execute commands until the connection is closed."""
    for library in LIBRARIES:
        importlib.import_module(library)
    gc.freeze()
    line = socket.socket(fileno=int(fd))
    while (received := socket.recv_fds(line, LONGEST, 3))[0]:
        order, fds = json.loads(received[0]), received[1]
        if order.pop("do") == "ended":
            answer = os.waitstatus_to_exitcode(os.waitpid(order["pid"], 0)[1])
        elif not (answer := os.fork()):
            line.close()
            _settle(fds, **order)
            _live(order["args"])
            return
        for each in fds:
            os.close(each)
        line.send(json.dumps(answer).encode())


def _settle(
    fds: list[int], args: list[str], env: dict[str, str], cwd: str, *, terminal: bool
) -> None:
    """Give a child what is its own."""
    ctypes.CDLL(None, use_errno=True).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    if terminal:
        os.setsid()
        fcntl.ioctl(fds[0], termios.TIOCSCTTY, 0)
        signal.signal(signal.SIGINT, signal.default_int_handler)
    for number, each in enumerate(fds):
        os.dup2(each, number)
        os.close(each)
    ours = [*filter(None, _path(os.environ).split(os.pathsep))]
    theirs = [*filter(None, _path(env).split(os.pathsep))]
    os.environ.clear()
    os.environ.update(env)
    os.chdir(cwd)
    first = {"-c": "", "-m": cwd}.get(args[0], str(Path(args[0]).resolve().parent))
    sys.path[:] = [first, *theirs, *[each for each in sys.path[1:] if each not in ours]]
    importlib.invalidate_caches()
    sys.stdin = sys.__stdin__ = io.TextIOWrapper(io.BufferedReader(io.FileIO(0, closefd=False)))  # type: ignore[misc]
    sys.stdout = sys.__stdout__ = _output(1, env)  # type: ignore[misc]
    sys.stderr = sys.__stderr__ = _output(2, env)  # type: ignore[misc]
    if env.get("PYTHONFAULTHANDLER"):
        faulthandler.enable(2)
    random.seed()  # or all would be twins


def _output(fd: int, env: Mapping[str, str]) -> io.TextIOWrapper:
    """Open a stream as Python itself opens it."""
    raw = io.FileIO(fd, "w", closefd=False)
    at_once = bool(env.get("PYTHONUNBUFFERED"))
    return io.TextIOWrapper(
        raw if at_once else io.BufferedWriter(raw),
        encoding="utf-8",
        errors="backslashreplace" if fd == 2 else None,
        line_buffering=fd == 2 or raw.isatty(),
        write_through=at_once,
    )


def _live(args: list[str]) -> None:
    """Run the program."""
    main_ = sys.modules["__main__"] = types.ModuleType("__main__")
    how, rest = args[0], args[1:]
    if how == "-m":
        sys.argv = ["-m", *rest[1:]]
        runpy._run_module_as_main(rest[0])  # type: ignore[attr-defined]
        return
    sys.argv = ["-c", *rest[1:]] if how == "-c" else args
    if how != "-c":
        main_.__file__ = how
    text = rest[0] if how == "-c" else Path(how).read_bytes()
    exec(compile(text, "<string>" if how == "-c" else how, "exec"), vars(main_))


def _path(env: Mapping[str, str]) -> str:
    return env.get("PYTHONPATH", "")


if __name__ == "__main__":
    main(*sys.argv[1:])
