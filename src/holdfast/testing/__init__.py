"""Test applications with a real server, a client for each test, and control over its tasks.

The fixtures are in `plugin.py`, which pytest loads; see `docs/testing.md`. Each name of this
package is imported when it is first used. Type checkers read `__init__.pyi`.
"""

from __future__ import annotations

from ..exports import by_name, lazily

EXPORTS = by_name({"_sync.task_bench": ["TaskBench"], "drain_result": ["DrainResult"]})

__all__ = sorted(EXPORTS)  # noqa: PLE0605 (type checkers read the stub)
__getattr__ = lazily(__name__, EXPORTS, globals())
