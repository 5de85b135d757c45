"""Repeat work at intervals in a thread. Hand-written twin of `_async/periodic_task.py`."""

from __future__ import annotations

import atexit
import threading
import weakref
from collections.abc import Callable

from ..detached_thread import start_thread
from .primitives import AutoResetEvent


class PeriodicTask:
    """Repeats work in a new thread, from `start` to `stop`.

    Without `stop`, the work runs a last time when the interpreter ends. The thread also ends when
    the object of the method *work* is garbage-collected. `keep_alive` prevents that.

    Args:
        work: a method that never raises.
        every_s: seconds between two runs.
        name: name of the thread.
    """

    def __init__(self, work: Callable[[], None], every_s: float, name: str) -> None:
        self._work = weakref.WeakMethod(work, self._collected)
        self._every_s = every_s
        self._name = name
        self._kept: object = None
        self._thread: threading.Thread | None = None
        # If an interrupted `start` is repeated, there may be two threads: only one takes this.
        self._unclaimed = [name]
        self._registered = False
        self._wake = AutoResetEvent()  # Takes no lock, so that a finalizer may set it.
        self._stopped = False

    def start(self) -> None:
        """Start the thread, unless it was started before."""
        if self._thread is None:
            if not self._registered:
                atexit.register(self._end)
                self._registered = True
            start_thread(self._run, self._name)

    def keep_alive(self, thing: object) -> None:
        """Keep a reference to *thing*, in place of the previous one."""
        self._kept = thing

    def run_now(self) -> None:
        """Run the work now, without waiting for the interval or for its end."""
        self._wake.set()

    def stop(self) -> None:
        """Wait for the current run, and end the thread."""
        self._stopped = True
        self.run_now()
        if self._thread is not None:
            atexit.unregister(self._end)
            self._thread.join()

    def copy_with(self, work: Callable[[], None]) -> PeriodicTask:
        """Return a copy with another *work*, not started, for a forked child."""
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
