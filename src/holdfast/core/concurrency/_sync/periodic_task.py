"""Work that is repeated in a thread. Hand-written twin of `_async/periodic_task.py`."""

from __future__ import annotations

import atexit
import threading
import weakref
from collections.abc import Callable

from ..detached_thread import start
from .primitives import AutoResetEvent


class PeriodicTask:
    """Repeats some work in a thread of its own, from `start` to `stop`.

    Without `stop` it does the work a last time when the interpreter ends. It also ends when the
    object of *work* is garbage, unless `keep_alive` keeps that object.

    Args:
        work: a method that raises nothing.
        every_s: seconds between two runs.
        name: of the thread.
    """

    def __init__(self, work: Callable[[], None], every_s: float, name: str) -> None:
        self._work = weakref.WeakMethod(work, self._collected)
        self._every_s = every_s
        self._name = name
        self._kept: object = None
        self._thread: threading.Thread | None = None
        self._unclaimed = [name]  # for the first thread, if there are several
        self._registered = False
        self._wake = AutoResetEvent()  # takes no lock: the garbage collector may set it
        self._stopped = False

    def start(self) -> None:
        """Start, unless it has started."""
        if self._thread is None:  # also after a start that was interrupted
            if not self._registered:
                atexit.register(self._end)
                self._registered = True
            start(threading.Thread(target=self._run, name=self._name, daemon=True))

    def keep_alive(self, thing: object) -> None:
        """Keep *thing* from the garbage collector, instead of what was kept before."""
        self._kept = thing

    def run_now(self) -> None:
        """Do the work now."""
        self._wake.set()

    def stop(self) -> None:
        """Finish the current run, and end."""
        self._stopped = True
        self.run_now()
        if self._thread is not None:
            atexit.unregister(self._end)
            self._thread.join()

    def copy_with(self, work: Callable[[], None]) -> PeriodicTask:
        """Return the same with another *work*, not started: for a forked child."""
        return PeriodicTask(work, self._every_s, self._name)

    def _collected(self, work: object) -> None:
        del work
        self._stopped = True
        self.run_now()

    def _run(self) -> None:
        try:
            self._unclaimed.pop()
        except IndexError:
            return
        self._thread = threading.current_thread()
        while not self._stopped:
            self._wake.wait(self._every_s)
            if not self._stopped:
                self._do()
        atexit.unregister(self._end)

    def _do(self) -> None:
        work = self._work()
        if work is not None:
            work()

    def _end(self) -> None:
        self.stop()
        self._do()
