"""Work that is repeated beside the caller, in a thread. Hand-written twin of `_async.py`."""

from __future__ import annotations

import atexit
import threading
import weakref
from collections.abc import Callable

from ..detached_thread import start
from .waiting import AutoResetEvent


class PeriodicTask:
    """Does some work again and again in a thread of its own, from `start` to `stop`.

    Where nobody stops it, it does it a last time when the interpreter ends. It ends when the
    garbage collector takes the object of *work*, unless this is told to `keep` that.

    Args:
        work: a method that raises nothing.
        every_s: seconds between two times.
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
        self._hurried = AutoResetEvent()  # which takes no lock: the garbage collector may raise it
        self._stopped = False

    def start(self) -> None:
        """Begin, unless it has begun."""
        if self._thread is None:  # also after a start that an exception has interrupted
            if not self._registered:
                atexit.register(self._end)
                self._registered = True
            start(threading.Thread(target=self._run, name=self._name, daemon=True))

    def keep(self, thing: object) -> None:
        """Keep *thing* from the garbage collector, instead of what was kept before."""
        self._kept = thing

    def hurry(self) -> None:
        """Do the work now."""
        self._hurried.set()

    def stop(self) -> None:
        """Finish what is being done, and end."""
        self._stopped = True
        self.hurry()
        if self._thread is not None:
            atexit.unregister(self._end)
            self._thread.join()

    def anew(self, work: Callable[[], None]) -> PeriodicTask:
        """The same with *work*, not begun: for a forked child."""
        return PeriodicTask(work, self._every_s, self._name)

    def _collected(self, work: object) -> None:
        del work
        self._stopped = True
        self.hurry()

    def _run(self) -> None:
        try:
            self._unclaimed.pop()
        except IndexError:
            return
        self._thread = threading.current_thread()
        while not self._stopped:
            self._hurried.wait(self._every_s)
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
