"""Ends a command whose lock nobody keeps any more: `python guard.py GRACE ENDS_AT`.

It reads from its standard input which process that is (negative: which group), then until when the
lease lasts, again and again, and `done` at the end. If that moment comes, or nobody is there to
write any more, it ends the command: so also when `holdfast locks run` hangs, was stopped, or was
killed by `kill -9`.

It is a program of its own, of the standard library alone, so that it starts in no time.
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
"""Exit code: it had to end the command."""

_PIPE: Final = 65_536
"""What a pipe holds: one read takes all lines of it, and each was written in one piece."""

_POLL_S: Final = 0.02


def main() -> int:
    """Wait for the end of the lease, or of the command."""
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
    if not target:  # no command was begun
        return 0
    end(target, grace_s)
    return ENDED


def end(target: int, grace_s: float) -> None:
    """End a process, or (negative) a group: by SIGTERM, after *grace_s* by SIGKILL."""
    killed_at = time.monotonic() + grace_s
    try:
        os.kill(target, signal.SIGTERM)
        os.kill(target, signal.SIGCONT)  # who is stopped would not hear it
        while time.monotonic() < killed_at:
            os.kill(target, 0)
            time.sleep(_POLL_S)
        os.kill(target, signal.SIGKILL)
    except OSError:  # it is gone
        return


if __name__ == "__main__":
    sys.exit(main())
