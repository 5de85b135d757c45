"""Run the command of `holdfast locks run` while the lock is held, and no longer."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING, Final

from . import guard
from .signals import SignalForwarder

if TYPE_CHECKING:
    from ... import Lease

FENCE: Final = "HOLDFAST_FENCE"
"""The environment variable with the fence of the lock."""

# Limits of the seconds between two reports of the lease to the guard. Reports are frequent, so
# that the guard does not take a short delay of this process for the end of the lease.
_SHORTEST_S: Final = 0.05
_LONGEST_S: Final = 1.0


@dataclass(frozen=True, slots=True)
class ChildExit:
    """Describes how a command ended.

    Attributes:
        code: the exit code; -N if signal N killed the command.
        by_force: whether the command was ended because its lease was lost.
    """

    code: int
    by_force: bool


def is_executable(program: str) -> bool | None:
    """Return whether *program* can be run; None if it is a file that cannot be run."""
    if shutil.which(program) is not None:
        return True
    return None if os.sep in program and Path(program).exists() else False


def run_under(
    lease: Lease, argv: Sequence[str], *, grace_s: float, signals: SignalForwarder
) -> ChildExit:
    """Run a command until it ends, or until the lease is lost.

    The command gets its own process group, so that the processes that it starts end with it. On a
    terminal it stays in the group of this process, because only the foreground group can use the
    terminal.

    Raises:
        OSError: the command could not be started.
    """
    foreground = any(os.isatty(stream) for stream in range(3))
    environment = {**os.environ, FENCE: str(lease.fence)}
    group = None if foreground else 0
    with _guard_process(lease, grace_s) as guardian:
        process = subprocess.Popen(argv, env=environment, process_group=group)  # noqa: S603 (wanted)
        target = process.pid if foreground else -process.pid
        try:
            with signals.forwarded_to(target), _guarded(lease, guardian, target, grace_s):
                code = process.wait()
        except BaseException:  # the guard may have ended, so end the command here
            guard.end(target, 0)
            process.wait()
            raise
    return ChildExit(code, guardian.wait() == guard.ENDED)


@contextlib.contextmanager
def _guard_process(lease: Lease, grace_s: float) -> Iterator[subprocess.Popen[bytes]]:
    """Start the guard before the command, so that the command is never unguarded.

    If the context ends before the guard knows its target, the guard ends nothing.
    """
    arguments = [str(grace_s), str(time.monotonic() + lease.remaining)]
    guardian = subprocess.Popen(  # noqa: S603 (ours)
        [sys.executable, "-I", "-S", guard.__file__, *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,  # so that readers of the output do not wait for the guard
        process_group=0,  # so that a signal to our group does not end the guard
    )
    assert guardian.stdin is not None
    try:
        with guardian.stdin:
            yield guardian
    finally:
        guardian.wait()


@contextlib.contextmanager
def _guarded(
    lease: Lease, guardian: subprocess.Popen[bytes], target: int, grace_s: float
) -> Iterator[None]:
    """End *target* when the lease is lost, even if this process is killed or stopped."""
    assert guardian.stdin is not None
    _write(guardian.stdin, b"%d" % target)
    over = threading.Event()

    def watch() -> None:
        _report_lease(lease, guardian, over)
        if lease.lost and guardian.wait() != guard.ENDED:  # the guard was killed
            guard.end(target, grace_s)

    watcher = threading.Thread(target=watch, name="lease watcher", daemon=True)
    lease.on_lost(over.set)
    watcher.start()
    try:
        yield
    finally:
        over.set()
        watcher.join()


def _report_lease(lease: Lease, guardian: subprocess.Popen[bytes], over: threading.Event) -> None:
    """Report to the guard until when the lease lasts, and at the end that the command is done."""
    assert guardian.stdin is not None
    pause_s = min(max(lease.remaining / 20, _SHORTEST_S), _LONGEST_S)
    with guardian.stdin as pipe:
        while not over.wait(pause_s):
            _write(pipe, b"%f" % (time.monotonic() + lease.remaining))
        if not lease.lost:
            _write(pipe, guard.DONE)


def _write(pipe: IO[bytes], word: bytes) -> None:
    with contextlib.suppress(BrokenPipeError):  # the guard has ended already
        os.write(pipe.fileno(), word + b"\n")
