"""Read what another thread executes."""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable
from operator import call
from types import FrameType
from typing import Final

FREE_THREADED: Final = "free-threading build" in sys.version
"""Whether this Python can run without the interpreter lock."""

_COLLECTS_IN_ALLOCATIONS: Final = sys.version_info < (3, 12)


def has_gil() -> bool:
    """Return whether only one thread at a time runs Python code: the interpreter lock is on.

    On a free-threaded Python it is off, until a module that needs it is imported. It is also on for
    a moment while other modules are imported.
    """
    enabled: Callable[[], bool] | None = getattr(sys, "_is_gil_enabled", None)  # since Python 3.13
    return enabled is None or enabled()


def is_alive(thread: int) -> bool:
    """Return whether the thread with this ident runs Python code."""
    return thread in _current_frames()


def frame_of(thread: int) -> FrameType | None:
    """Return the innermost frame of the thread with this ident; None if it is unknown.

    It is unknown if the thread has ended. Without the interpreter lock it is always unknown: the
    thread may free its frames while this one reads them, and the interpreter would crash.
    `faulthandler` shows no other thread then either, for the same reason.
    """
    return _current_frames().get(thread) if has_gil() else None


def _current_frames() -> dict[int, FrameType]:
    """Return the innermost frame of each thread.

    Before 3.11.9, a garbage collection during `sys._current_frames` can block all threads forever
    (python/cpython#106883). So garbage collection is disabled meanwhile. `map` makes the three
    calls without a switch of threads and without a signal handler between them.
    """
    if _COLLECTS_IN_ALLOCATIONS and gc.isenabled():
        try:
            _, frames, _ = map(call, (gc.disable, sys._current_frames, gc.enable))  # noqa: SLF001
        except BaseException:  # An audit hook of the user may raise.
            gc.enable()
            raise
        assert frames is not None  # The other two functions return None.
    else:
        frames = sys._current_frames()  # noqa: SLF001 (documented, in spite of its name)
    return frames
