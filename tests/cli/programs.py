"""The command line as a program of its own, in a pipe or on a terminal."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
from fcntl import ioctl
from pathlib import Path
from select import select
from struct import pack
from termios import TIOCSWINSZ

PATIENCE_S = 60.0
CTRL_C = "\x03"

# Ctrl-C reaches only a program whose own terminal it is, and that was not begun in the background.
AS_ITS_OWN = """
import fcntl, os, signal, sys, termios
signal.signal(signal.SIGINT, signal.SIG_DFL)
fcntl.ioctl(0, termios.TIOCSCTTY, 0)
os.execv(sys.executable, [sys.executable, "-m", "holdfast", *sys.argv[1:]])
"""


def holdfast(
    *args: str, cwd: Path | None = None, patience_s: float = PATIENCE_S, **env: str
) -> subprocess.CompletedProcess[str]:
    """Run a command to its end, in a pipe."""
    return subprocess.run(
        [sys.executable, "-m", "holdfast", *args],
        cwd=cwd,
        env=_clean() | env,
        capture_output=True,
        text=True,
        timeout=patience_s,
        check=False,
    )


def on_terminal(*args: str, wait_for: str = "", say: str = "", **env: str) -> tuple[int, str]:
    """Run a command on a terminal of 80 columns, and type *say* once it has shown *wait_for*.

    Returns:
        Its exit code, and what the terminal got.
    """
    ours, theirs = pty.openpty()
    ioctl(theirs, TIOCSWINSZ, pack("HHHH", 24, 80, 0, 0))
    process = subprocess.Popen(
        [sys.executable, "-c", AS_ITS_OWN, *args],
        env=_clean() | {"TERM": "xterm"} | env,
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        start_new_session=True,
    )
    os.close(theirs)
    try:
        shown, said = b"", False
        while part := _read(ours, again=say if said and say == CTRL_C else ""):
            shown += part
            if say and not said and wait_for.encode() in shown:
                os.write(ours, say.encode())
                said = True
        return process.wait(PATIENCE_S), shown.decode().replace("\r\n", "\n")
    finally:
        process.kill()
        process.wait()
        os.close(ours)


def _read(terminal: int, *, again: str) -> bytes:
    """What the terminal got; nothing once the program has ended, or hangs.

    Meanwhile *again* is typed now and then, as a person would who is not heard: Python misses a
    Ctrl-C that comes in the very moment in which it begins to read.
    """
    for _ in range(4):
        if select([terminal], [], [], PATIENCE_S / 4)[0]:
            break
        os.write(terminal, again.encode())
    else:
        return b""
    try:
        return os.read(terminal, 4096)
    except OSError:  # as Linux reports that nobody has the terminal open any more
        return b""


def _clean() -> dict[str, str]:
    unwanted = ("HOLDFAST_", "NO_COLOR", "FORCE_COLOR", "COLUMNS")
    return {k: v for k, v in os.environ.items() if not k.startswith(unwanted)}
