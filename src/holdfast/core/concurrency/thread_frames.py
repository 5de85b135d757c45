"""Read what another thread executes."""

from __future__ import annotations

import gc
import sys
from operator import call
from types import FrameType
from typing import Final

_COLLECTS_IN_ALLOCATIONS: Final = sys.version_info < (3, 12)


def frame_of(thread: int) -> FrameType | None:
    """Return the innermost frame of the thread with this ident; None if the thread has ended.

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
    return frames.get(thread)
