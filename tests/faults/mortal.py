"""Run a command that dies with its parent: `python mortal.py PARENT_PID COMMAND…`.

A test run may itself be killed, and then cleans nothing up. So the kernel is asked to send SIGKILL
when the parent is gone (prctl(2), PR_SET_PDEATHSIG; the wish survives the exec). This is a program
and not a `preexec_fn`, because code between fork and exec may deadlock in a process with threads.
Elsewhere than on Linux it only runs the command.
"""

import os
import sys

PR_SET_PDEATHSIG = 1
SIGKILL = 9


def main() -> None:
    """Ask for the signal, then become the command."""
    parent, command = int(sys.argv[1]), sys.argv[2:]
    if sys.platform == "linux":
        import ctypes

        ctypes.CDLL(None, use_errno=True).prctl(PR_SET_PDEATHSIG, SIGKILL)
        if os.getppid() != parent:  # the parent died before it could be watched
            sys.exit("the parent is gone")
    os.execvp(command[0], command)


if __name__ == "__main__":
    main()
