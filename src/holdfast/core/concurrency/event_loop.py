"""Create the event loops that Holdfast runs itself."""

from __future__ import annotations

import asyncio


def new_loop() -> asyncio.AbstractEventLoop:
    """Return a new event loop. Use uvloop if it is installed, because it is faster than asyncio."""
    try:
        import uvloop
    except ModuleNotFoundError:
        return asyncio.new_event_loop()
    return uvloop.new_event_loop()
