"""The event loops that Holdfast makes itself; in a loop of the user's it runs as that is."""

from __future__ import annotations

import asyncio


def new_loop() -> asyncio.AbstractEventLoop:
    """Return a loop of uvloop if that is installed, because it is faster; otherwise asyncio's."""
    try:
        import uvloop
    except ModuleNotFoundError:
        return asyncio.new_event_loop()
    return uvloop.new_event_loop()
