"""The event loops that Holdfast makes itself; in a loop of the user's it runs as that is."""

from __future__ import annotations

import asyncio


def new_loop() -> asyncio.AbstractEventLoop:
    """A loop of uvloop where that is installed, for it is quicker; else one of the library's."""
    try:
        import uvloop
    except ModuleNotFoundError:
        return asyncio.new_event_loop()
    return uvloop.new_event_loop()
