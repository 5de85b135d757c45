"""The event loop of a command that runs for long."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any


def run_async(work: Coroutine[Any, Any, None]) -> None:
    """Do *work* in a loop of uvloop where that is installed, for it is quicker.

    Elsewhere, and apart from that, it is `asyncio.run`.
    """
    try:
        from uvloop import new_event_loop
    except ModuleNotFoundError:
        from asyncio import new_event_loop
    with asyncio.Runner(loop_factory=new_event_loop) as runner:
        runner.run(work)
