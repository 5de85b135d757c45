"""End a command when its lock is lost: `python guard.py GRACE ENDS_AT`.

This program, the guard, reads lines from its standard input: first the process id of the command
(negative: a process group), then repeatedly the monotonic time at which the lease ends, and `done`
when the command has ended. If that time passes, or the input ends without `done`, the guard ends
the command. So the command also ends when `holdfast locks run` hangs, was stopped, or was killed by
`kill -9`.

The guard imports only the standard library, so that it starts fast.
"""

from __future__ import annotations

import os
import select
import signal
import sys
import time
from typing import Final

DONE: Final = b"done"
ENDED: Final = 1
"""Exit code: the guard ended the command."""

_PIPE: Final = 65_536
"""Bytes of one read: the capacity of a pipe, so that one read takes all lines in the pipe. No read
ends within a line, because each line is written at once."""

_POLL_S: Final = 0.02


def main() -> int:
    """Wait for the end of the lease or of the command; return the exit code."""
    grace_s, ends_at = float(sys.argv[1]), float(sys.argv[2])
    target = 0
    while select.select([0], [], [], max(0.0, ends_at - time.monotonic()))[0]:
        lines = os.read(0, _PIPE).splitlines()
        if not lines:
            break
        target = target or int(lines.pop(0))
        if lines and lines[-1] == DONE:
            return 0
        if lines:
            ends_at = float(lines[-1])  # monotonic time is the same for all processes
    if not target:  # no command was started
        return 0
    end(target, grace_s)
    return ENDED


def end(target: int, grace_s: float) -> None:
    """End a process, or (negative) a group: by SIGTERM, after *grace_s* by SIGKILL."""
    killed_at = time.monotonic() + grace_s
    try:
        os.kill(target, signal.SIGTERM)
        os.kill(target, signal.SIGCONT)  # a stopped process handles no SIGTERM
        while time.monotonic() < killed_at:
            os.kill(target, 0)
            time.sleep(_POLL_S)
        os.kill(target, signal.SIGKILL)
    except OSError:  # the process has ended already
        return


if __name__ == "__main__":
    sys.exit(main())
