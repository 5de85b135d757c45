"""The lifespan of a worker: what the application starts and ends with it."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from contextlib import AbstractAsyncContextManager, AbstractContextManager
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class WorkerInfo:
    """The worker for which a lifespan runs.

    Attributes:
        name: its name, for people to read; it contains the host and the process id.
        namespace: the namespace of its queues.
        queues: what it serves, with weights.
        concurrency: how many tasks it runs at once.
    """

    name: str
    namespace: str
    queues: Mapping[str, int]
    concurrency: int


State = Mapping[str, Any]

Lifespan = Callable[
    [WorkerInfo], AbstractAsyncContextManager[State | None] | AbstractContextManager[State | None]
]


def checked_lifespan(lifespan: Lifespan | None) -> Lifespan | None:
    """Return *lifespan*, or raise why it cannot be one."""
    if lifespan is None:
        return None
    if inspect.isasyncgenfunction(lifespan):
        raise TypeError(f"decorate the lifespan {lifespan.__qualname__} with @asynccontextmanager")
    if inspect.isgeneratorfunction(lifespan):
        raise TypeError(f"decorate the lifespan {lifespan.__qualname__} with @contextmanager")
    if not callable(lifespan) or inspect.iscoroutinefunction(lifespan):
        raise TypeError(
            f"a lifespan is a function that returns a context manager, got {lifespan!r}"
        )
    return lifespan
