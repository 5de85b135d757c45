"""Run the command line as a program of its own, in a pipe or on a terminal."""

from __future__ import annotations

import os
import pty
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from fcntl import ioctl
from pathlib import Path
from select import select
from struct import pack
from termios import TIOCSWINSZ, tcgetattr
from typing import Self

from faults import warm

PATIENCE_S = 100.0
CTRL_C = "\x03"

# Ctrl-C reaches only the foreground group of a terminal, and no program that ignores SIGINT.
AS_ITS_OWN = """
import fcntl, os, signal, sys, termios
signal.signal(signal.SIGINT, signal.SIG_DFL)
fcntl.ioctl(0, termios.TIOCSCTTY, 0)
os.execv(sys.executable, [sys.executable, *sys.argv[1:]])
"""


def holdfast(
    *args: str, cwd: Path | None = None, patience_s: float = PATIENCE_S, **env: str
) -> subprocess.CompletedProcess[str]:
    """Run a command to its end, in a pipe."""
    argv, whole = ["-m", "holdfast", *args], clean() | env
    if not warm.can_start(argv, whole):
        return subprocess.run(
            [sys.executable, *argv],
            cwd=cwd,
            env=whole,
            capture_output=True,
            text=True,
            timeout=patience_s,
            check=False,
        )
    (out, to_out), (err, to_err) = os.pipe(), os.pipe()
    with Path(os.devnull).open() as nothing, os.fdopen(to_out, "w"), os.fdopen(to_err, "w"):
        streams = nothing.fileno(), to_out, to_err
        process = warm.start(argv, env=whole, cwd=cwd, streams=streams)
    with os.fdopen(out) as read, os.fdopen(err) as errors, ThreadPoolExecutor(2) as readers:
        output = [readers.submit(each.read) for each in (read, errors)]
        try:
            process.wait(patience_s)
        finally:
            process.kill()
        return subprocess.CompletedProcess(
            argv, process.wait(), *[each.result() for each in output]
        )


def on_terminal(*args: str, wait_for: str = "", say: str = "", **env: str) -> tuple[int, str]:
    """Run a command on a terminal of 80 columns, and type *say* once it has shown *wait_for*.

    Args:
        args: of the command.
        wait_for: a regular expression.
        say: what is typed.
        env: variables of the command.

    Returns:
        Its exit code, and what the terminal got.
    """
    ours, theirs = pty.openpty()
    process = _begun(theirs, args, env)
    os.close(theirs)
    try:
        shown, typed = b"", False
        while part := _read(ours, again=say if typed and say == CTRL_C else ""):
            shown += part
            if say and not typed and re.search(wait_for.encode(), shown):
                os.write(ours, say.encode())
                typed = True
        return process.wait(PATIENCE_S), shown.decode().replace("\r\n", "\n")
    finally:
        process.kill()
        process.wait()
        os.close(ours)


class Terminal:
    """Run a command on a terminal and talk to it; it is killed at the end of `with`.

    Args:
        args: of the command.
        rows: of the terminal.
        columns: of the terminal.
        env: variables of the command.
    """

    def __init__(self, *args: str, rows: int = 24, columns: int = 80, **env: str) -> None:
        self._ours, theirs = pty.openpty()
        self._theirs: int | None = theirs
        self._before = self._after = tcgetattr(self._theirs)
        self._process = _begun(self._theirs, args, env, rows, columns)
        self.shown = ""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.wait()
        os.close(self._ours)
        if self._theirs is not None:
            os.close(self._theirs)

    @property
    def is_as_before(self) -> bool:
        """Return whether the terminal behaves after the command as it did before."""
        return self._after == self._before

    def expect(self, text: str) -> None:
        """Wait until the terminal gets *text*; forget everything up to it."""
        while text not in self.shown:
            assert select([self._ours], [], [], PATIENCE_S)[0], f"no {text!r} in {self.shown!r}"
            self.shown += os.read(self._ours, 65536).decode(errors="replace")
        self.shown = self.shown.partition(text)[2]

    def say(self, text: str) -> None:
        """Type *text*."""
        os.write(self._ours, text.encode())

    def resize(self, rows: int, columns: int) -> None:
        """Give the terminal another size; the command gets a signal."""
        ioctl(self._ours, TIOCSWINSZ, pack("HHHH", rows, columns, 0, 0))

    def signal(self, number: int) -> None:
        """Send the command a signal."""
        self._process.send_signal(number)

    def code(self) -> int:
        """Wait for the end of the command and return its exit code; the rest is in `shown`."""
        while self._process.poll() is None:
            if select([self._ours], [], [], 0.05)[0]:
                self.shown += os.read(self._ours, 65536).decode(errors="replace")
        self._after = tcgetattr(self._theirs)
        os.close(self._theirs)  # so that what it showed has an end
        self._theirs = None
        while part := _read(self._ours, again=""):
            self.shown += part.decode(errors="replace")
        return self._process.wait()


def _begun(
    terminal: int,
    args: tuple[str, ...],
    env: dict[str, str],
    rows: int = 24,
    columns: int = 80,
) -> subprocess.Popen[bytes] | warm.Child:
    ioctl(terminal, TIOCSWINSZ, pack("HHHH", rows, columns, 0, 0))
    argv, whole = ["-m", "holdfast", *args], clean() | {"TERM": "xterm"} | env
    if warm.can_start(argv, whole):
        return warm.start(argv, env=whole, streams=[terminal] * 3, terminal=True)
    return subprocess.Popen(
        [sys.executable, "-c", AS_ITS_OWN, *argv],
        env=whole,
        stdin=terminal,
        stdout=terminal,
        stderr=terminal,
        start_new_session=True,
    )


def _read(terminal: int, *, again: str) -> bytes:
    """Return what the terminal got; nothing once the program has ended, or hangs.

    Type *again* every few seconds until then: Python misses a Ctrl-C that comes at the very moment
    in which it begins to read.
    """
    for _ in range(4):
        if select([terminal], [], [], PATIENCE_S / 4)[0]:
            break
        os.write(terminal, again.encode())
    else:
        return b""
    try:
        return os.read(terminal, 4096)
    except OSError:  # Linux: no process has the terminal open any more
        return b""


def clean() -> dict[str, str]:
    """Return the environment without the variables that change what a command does."""
    unwanted = ("HOLDFAST_", "NO_COLOR", "FORCE_COLOR", "COLUMNS")
    return {k: v for k, v in os.environ.items() if not k.startswith(unwanted)}
