"""Runs `python -m MODULE …` until the parent closes the standard input.

    python -m holdfast_demo.child holdfast worker mail:tasks

However the demo ends, by `kill -9` too, the system closes that pipe, and this process ends as after
SIGTERM: a worker claims nothing more and finishes what it has. That needs no process group, no
parent id and no system call that only one system has.
"""

from __future__ import annotations

import os
import runpy
import signal
import sys
import threading
import time

GRACE_S = 15.0  # a mail that hangs gives up after 10 s


def main() -> None:
    """Run the module that the first argument names."""
    threading.Thread(target=_watch_parent, name="parent", daemon=True).start()
    module = sys.argv.pop(1)
    runpy.run_module(module, run_name="__main__", alter_sys=True)


def _watch_parent() -> None:
    # Not sys.stdin.read(): a daemon thread that holds the lock of a buffered reader when the
    # interpreter ends makes that a fatal error.
    while os.read(0, 1024):
        pass
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(GRACE_S)
    os._exit(1)


if __name__ == "__main__":
    main()
