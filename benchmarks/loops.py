"""The event loop of all that is measured: uvloop for everybody, where it is installed."""

from __future__ import annotations

import asyncio


def use_uvloop() -> None:
    """Make uvloop the loop of `asyncio.run` and `asyncio.Runner`, and of libraries that use them.

    Workers of Holdfast take uvloop by themselves. Rivals get the same.
    """
    try:
        import uvloop
    except ModuleNotFoundError:
        return
    asyncio.set_event_loop_policy(uvloop.EventLoopPolicy())
