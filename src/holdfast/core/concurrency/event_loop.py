"""Create the event loops that Holdfast runs itself."""

from __future__ import annotations

import asyncio


def new_loop(*, daemon: bool) -> asyncio.AbstractEventLoop:
    """Return a new event loop. Use uvloop if it is installed, because it is faster than asyncio.

    Args:
        daemon: whether the loop is for a daemon thread. Such a thread may run while the interpreter
            ends, and a timer of uvloop would then crash the process. A loop of asyncio just stops.
    """
    if daemon:
        return asyncio.new_event_loop()
    try:
        import uvloop
    except ModuleNotFoundError:
        return asyncio.new_event_loop()
    return uvloop.new_event_loop()
