"""Run `holdfast worker --reload`: replace the worker process whenever code is saved."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any, Final

import typer

from ..errors.one_line_logger import logger_of
from .connection import fail

logger: Final = logger_of("holdfast.worker")

VARIABLE: Final = "HOLDFAST_RELOADED"
"""The environment variable with the descriptor that connects a worker process to its reloader."""

_START: Final = b"s"
_DRAIN: Final = b"d"
_GIVE_BACK: Final = b"g"

_STEP_MS: Final = 50
"""Milliseconds without a further change after which the reloader acts on changed files."""

_LOOK_MS: Final = 200
"""Milliseconds after which the reloader checks again whether the process has ended."""

_SPARE_S: Final = 2.0
"""Seconds to wait after a start before starting a spare process, which would slow the start."""

_END_S: Final = 5.0
"""Seconds that a process has to give back its tasks before the reloader kills it."""

_ENDING: Final = (signal.SIGINT, signal.SIGTERM)


class Reloader:
    """Runs a worker process, and replaces it by a new one whenever code is saved.

    The old process gives back its tasks without counting an attempt, and the new process runs them
    again with the new code. If a process ends by itself, for example because of a syntax error,
    the reloader starts a new one after the next save.

    A spare process has already imported Holdfast. It imports the application only when it replaces
    the old process. So the new code runs within a second of a save.

    Args:
        folder: the folder with the Python files to watch.
        grace_s: seconds that running tasks get to finish when the reloader stops.
    """

    def __init__(self, folder: Path, grace_s: float) -> None:
        self._folder = folder
        self._grace_s = grace_s
        self._over = threading.Event()
        self._child: _Child | None = None
        self._spare: _Child | None = None
        self._spare_at = 0.0

    def run(self) -> int:
        """Run worker processes until SIGTERM or Ctrl-C. Return the exit code of the last one."""
        changes = _changes(self._folder, self._over)
        next(changes)  # start to watch now, to notice saves during the start of the process
        logger.info("reloader: watching %s", self._folder)
        with _handling(self._handle):
            child = self._start()
            for saved in changes:
                if self._over.is_set():
                    break
                if saved:
                    logger.info("reloader: %s changed, starting again", ", ".join(saved))
                    child.end(_GIVE_BACK, _END_S)
                    child = self._start()
                else:
                    child.log_end()
                    self._prepare()
            child.send(_DRAIN)
            if self._spare is not None:
                self._spare.end(_DRAIN, _END_S)
            return child.end(_DRAIN, self._grace_s + _END_S)

    def _start(self) -> _Child:
        """Start a worker process with the current code: the spare process, or a new one."""
        self._child = child = self._spare or _Child()
        child.send(_START)
        self._spare, self._spare_at = None, time.monotonic() + _SPARE_S
        return child

    def _prepare(self) -> None:
        """Start the spare process if the current process has had time to start."""
        if self._spare is None and time.monotonic() >= self._spare_at:
            self._spare = _Child()

    def _handle(self, _number: int, _frame: FrameType | None) -> None:
        if self._over.is_set() and self._child is not None:  # the second signal
            self._child.send(_GIVE_BACK)
        self._over.set()


class _Child:
    """Represents a worker process that runs with the command line of this process."""

    def __init__(self) -> None:
        self._socket, theirs = socket.socketpair()
        self._end_logged = False
        # Write no compiled code: Python compares it with a source file only by second and size,
        # which may be equal for two saves.
        env = {**os.environ, VARIABLE: str(theirs.fileno()), "PYTHONDONTWRITEBYTECODE": "1"}
        argv = [sys.executable, "-m", "holdfast", *sys.argv[1:]]
        with theirs:
            self._popen = subprocess.Popen(argv, env=env, pass_fds=[theirs.fileno()])  # noqa: S603 (our own command line)

    def send(self, command: bytes) -> None:
        """Send *command* to the process. Do nothing if the process has ended."""
        with contextlib.suppress(OSError):
            self._socket.send(command)

    def log_end(self) -> None:
        """Log once that the process has ended by itself."""
        if not self._end_logged and self._popen.poll() is not None:
            self._end_logged = True
            text = "reloader: the worker ended with exit code %d; it starts again at the next save"
            logger.warning(text, self._popen.returncode)

    def end(self, command: bytes, seconds: float) -> int:
        """Send *command* to end the process, and kill it after *seconds*. Return its exit code."""
        self.send(command)
        try:
            return self._popen.wait(seconds)
        except subprocess.TimeoutExpired:
            logger.warning("reloader: the worker did not end within %.0f s: killed", seconds)
            self._popen.kill()
            return self._popen.wait()
        finally:
            self._socket.close()


def reloaded_link() -> socket.socket | None:
    """Return the connection of this process to its reloader; None if it has no reloader.

    A spare process waits here until it replaces the current one, and exits if that never happens.
    The environment variable is removed, so that processes that tasks start do not see it.
    """
    descriptor = os.environ.pop(VARIABLE, "")
    if not descriptor:
        return None
    from .. import AsyncWorker, Holdfast, TaskRegistry  # noqa: F401 (imported before the wait)

    link = socket.socket(fileno=int(descriptor))
    link.set_inheritable(False)  # processes that tasks start must not keep the connection open
    try:
        if link.recv(1) == _START:
            return link
    except KeyboardInterrupt:  # Ctrl-C on a terminal reaches this process too
        pass
    raise typer.Exit


def obey_reloader(link: socket.socket, stop: Callable[..., None]) -> None:
    """Stop the worker when the reloader sends a command, or when the reloader has ended.

    Args:
        link: the connection to the reloader.
        stop: stops the worker, as `Worker.stop` does.
    """

    def obey() -> None:
        with contextlib.suppress(OSError):
            while command := link.recv(1):
                if command == _GIVE_BACK:
                    stop(grace=0)
                else:
                    stop()
        stop()

    threading.Thread(target=obey, name="holdfast reloader", daemon=True).start()


def _changes(folder: Path, over: threading.Event) -> Iterator[list[str]]:
    """Yield the names of saved files after each save; yield an empty list regularly in between."""
    try:
        from watchfiles import PythonFilter, watch
    except ModuleNotFoundError:
        fail("--reload needs an extra: install `holdfast[dev]` from where you got Holdfast")
    for changes in watch(
        folder,
        watch_filter=PythonFilter(),
        step=_STEP_MS,
        rust_timeout=_LOOK_MS,
        yield_on_timeout=True,
        stop_event=over,
        raise_interrupt=False,
    ):
        yield sorted({os.path.relpath(path, folder) for _, path in changes})


@contextmanager
def _handling(handler: Callable[[int, FrameType | None], Any]) -> Iterator[None]:
    """Call *handler* for the signals that stop a worker, within the context."""
    before = {number: signal.signal(number, handler) for number in _ENDING}
    try:
        yield
    finally:
        for number, usual in before.items():
            signal.signal(number, usual)
