"""Run `python -m MODULE …` until the parent process closes the standard input.

    python -m holdfast_demo.child holdfast worker mail:tasks

When the demo ends, even by `kill -9`, the operating system closes this pipe. Then this process ends
as after SIGTERM: a worker claims no more tasks and finishes its current ones. This works on all
operating systems, without process groups or the id of the parent.
"""

from __future__ import annotations

import os
import runpy
import signal
import sys
import threading
import time

GRACE_S = 15.0  # from SIGTERM to the end by force; sending a mail times out after 10 s


def main() -> None:
    """Run the module that the first argument names."""
    threading.Thread(target=_watch_parent, name="parent", daemon=True).start()
    module = sys.argv.pop(1)
    runpy.run_module(module, run_name="__main__", alter_sys=True)


def _watch_parent() -> None:
    # Do not use sys.stdin.read(): if a daemon thread holds the lock of a buffered reader when the
    # interpreter ends, the process aborts.
    while os.read(0, 1024):
        pass
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(GRACE_S)
    os._exit(1)


if __name__ == "__main__":
    main()
