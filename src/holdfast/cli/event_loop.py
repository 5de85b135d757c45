"""Run the event loop of a command that runs for a long time."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any


def run_async(work: Coroutine[Any, Any, None]) -> None:
    """Run *work* as `asyncio.run` does, with uvloop if it is installed."""
    with asyncio.Runner(loop_factory=_new_loop) as runner:
        runner.run(work)


def _new_loop() -> asyncio.AbstractEventLoop:
    try:
        import uvloop
    except ModuleNotFoundError:
        return asyncio.new_event_loop()
    return uvloop.new_event_loop()
