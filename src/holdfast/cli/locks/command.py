"""A command that runs while a lock is held, and no longer."""

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
from .signals import Signals

if TYPE_CHECKING:
    from ... import Lease

FENCE: Final = "HOLDFAST_FENCE"
"""The variable that tells the command its fence."""

_SHORTEST_S: Final = 0.05
_LONGEST_S: Final = 1.0
"""Between two words to the guard: often enough that a pause of the machine is not taken for the end
of the lease."""


@dataclass(frozen=True, slots=True)
class Ended:
    """How a command ended.

    Attributes:
        code: its exit code; negative: it was killed by that signal.
        by_force: it had to be ended, as its lease was over.
    """

    code: int
    by_force: bool


def can_run(program: str) -> bool | None:
    """Whether there is such a program; None: there is a file, but none that can be run."""
    if shutil.which(program) is not None:
        return True
    return None if os.sep in program and Path(program).exists() else False


def run_under(lease: Lease, argv: Sequence[str], *, grace_s: float, signals: Signals) -> Ended:
    """Run a command until it ends, or has to because the lease is lost.

    It has a process group of its own, so that whatever it starts ends with it. Not on a terminal:
    what is not in the group of the foreground cannot use it.

    Raises:
        OSError: it could not be begun.
    """
    ours = any(os.isatty(stream) for stream in range(3))
    environment = {**os.environ, FENCE: str(lease.fence)}
    group = None if ours else 0
    with _guarding(lease, grace_s) as guardian:
        process = subprocess.Popen(argv, env=environment, process_group=group)  # noqa: S603 (wanted)
        target = process.pid if ours else -process.pid
        try:
            with signals.passed_on(target), _guarded(lease, guardian, target, grace_s):
                code = process.wait()
        except BaseException:  # there is no guard
            guard.end(target, 0)
            process.wait()
            raise
    return Ended(code, guardian.wait() == guard.ENDED)


@contextlib.contextmanager
def _guarding(lease: Lease, grace_s: float) -> Iterator[subprocess.Popen[bytes]]:
    """A guard that waits for what it shall guard: begun first, so that the command is never alone.

    If the context ends before it was told, it has nothing to end.
    """
    arguments = [str(grace_s), str(time.monotonic() + lease.remaining)]
    guardian = subprocess.Popen(  # noqa: S603 (ours)
        [sys.executable, "-I", "-S", guard.__file__, *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,  # whoever reads the output of the command need not wait for it
        process_group=0,  # what ends us by a signal to our group must not end it
    )
    assert guardian.stdin is not None
    with guardian.stdin:
        yield guardian


@contextlib.contextmanager
def _guarded(
    lease: Lease, guardian: subprocess.Popen[bytes], target: int, grace_s: float
) -> Iterator[None]:
    """While the context lasts, *target* is ended when the lease is lost, whatever becomes of us."""
    assert guardian.stdin is not None
    _write(guardian.stdin, b"%d" % target)
    news = threading.Event()

    def keep() -> None:
        _keep(lease, guardian, news)
        if lease.lost and guardian.wait() != guard.ENDED:  # somebody has killed the guard
            guard.end(target, grace_s)

    keeper = threading.Thread(target=keep, name="keeper", daemon=True)
    lease.on_lost(news.set)
    keeper.start()
    try:
        yield
    finally:
        news.set()
        keeper.join()


def _keep(lease: Lease, guardian: subprocess.Popen[bytes], news: threading.Event) -> None:
    """Tell the guard again and again until when the lease lasts, and at the end whether it did."""
    assert guardian.stdin is not None
    pause_s = min(max(lease.remaining / 20, _SHORTEST_S), _LONGEST_S)
    with guardian.stdin as pipe:
        while not news.wait(pause_s):
            _write(pipe, b"%f" % (time.monotonic() + lease.remaining))
        if not lease.lost:
            _write(pipe, guard.DONE)


def _write(pipe: IO[bytes], word: bytes) -> None:
    with contextlib.suppress(BrokenPipeError):  # the guard was faster to see the end
        os.write(pipe.fileno(), word + b"\n")
