"""For the tests of applications: a real server, a client of each test's own, and its tasks.

The fixtures are in `plugin.py`, which pytest loads by itself; see `docs/testing.md`. Each name here
is loaded when it is first used, so that tests that use none pay for none.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from ._async.task_bench import AsyncTaskBench
    from ._sync.task_bench import TaskBench
    from .drain_result import Drained

__all__ = ["AsyncTaskBench", "Drained", "TaskBench"]

_EXPORTS: Final = {
    "AsyncTaskBench": "_async.task_bench",
    "Drained": "drain_result",
    "TaskBench": "_sync.task_bench",
}

if not TYPE_CHECKING:  # or a type checker would believe in any name

    def __getattr__(name: str) -> object:
        """A public name that is used for the first time."""
        if name not in _EXPORTS:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        return getattr(import_module(f".{_EXPORTS[name]}", __name__), name)
