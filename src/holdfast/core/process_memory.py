"""Measure how much memory this process takes."""

from __future__ import annotations

import os
import sys


def resident_bytes(*children: int) -> int | None:
    """Return the bytes of memory that this process has in use; None if it is not known.

    On Linux this is the present value, plus that of *children* (process ids). On other systems it
    is the highest value of this process so far, without children.
    """
    if (own := _resident("self")) is None:
        return _highest()
    return own + sum(_resident(str(pid)) or 0 for pid in children)


def _resident(process: str) -> int | None:
    try:
        with open(f"/proc/{process}/statm", "rb") as file:  # noqa: PTH123 (called once a second)
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError, IndexError):
        return None


def _highest() -> int | None:
    try:
        import resource
    except ModuleNotFoundError:
        return None
    highest = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return highest if sys.platform == "darwin" else highest * 1024
