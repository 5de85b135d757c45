"""What an adapter of a library implements, and the process that it becomes.

`python -m benchmarks.queues.contenders.NAME produce|work BRIEF`, the brief as JSON. A producer
reads orders from its standard input, one JSON object per line, `{"verb": …, "count": …}`, and
answers each with a line: what it took, and when each task was sent.
"""

from __future__ import annotations

import asyncio
import json
import logging
import sys
import time
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from ..loops import use_uvloop
from ..orders import obey_orders
from ..stopwatch import stopwatch

BOARD: Final = "HOLDFAST_BENCH_BOARD"
"""The environment variable with the path of the scoreboard, for `task.py`."""

HOLD_S: Final = "HOLDFAST_BENCH_HOLD_S"
"""The environment variable with the duration of a task."""

STEPS: Final = "HOLDFAST_BENCH_STEPS"
"""The environment variable with how much a task computes: turns of a loop."""

QUEUE: Final = "bench"
TASK: Final = "touch"

RESULT_TTL_S: Final = 600
"""Results are kept this long by everybody."""

ANSWER_S: Final = 20.0
"""How long a producer waits for a result: also while a worker starts."""

BATCH: Final = 500
"""Tasks in one bulk enqueue, where the library leaves that to its user."""

COROUTINES: Final = 50
"""Coroutines that enqueue at once."""


@dataclass(frozen=True, slots=True)
class Brief:
    """The arguments of a process of a contender.

    Attributes:
        url: of the server.
        places: tasks that a worker runs at once, as far as the library knows such a thing.
        lease_s: the shortest time after which the tasks of a vanished worker should run again.
        padding: characters that make a task larger.
        options: of the library, for this contender.
    """

    url: str
    places: int
    lease_s: int
    padding: int
    options: dict[str, Any]

    def arguments(self, number: int) -> tuple[Any, ...]:
        """Return the arguments of task *number*."""
        return (number, "x" * self.padding) if self.padding else (number,)


class Contender(ABC):
    """One library, as a producer and as a worker.

    Args:
        brief: what to do it with.
    """

    def __init__(self, brief: Brief) -> None:
        self.brief = brief

    @abstractmethod
    def work(self) -> None:
        """Run tasks until killed."""

    @abstractmethod
    def obey(self, verb: str, **order: Any) -> dict[str, Any]:
        """Carry out one order, and answer it."""


class Blocking(Contender):
    """A library with blocking producers."""

    @abstractmethod
    def enqueue(self, number: int) -> Any:
        """Enqueue task *number*; return what its result can be asked from."""

    @abstractmethod
    def result(self, handle: Any) -> Any:
        """Wait for the result of the task, and return it."""

    def enqueue_many(self, numbers: Sequence[int]) -> None:
        """Enqueue tasks; here one by one, for libraries that have no better way."""
        for number in numbers:
            self.enqueue(number)

    def obey(self, verb: str, **order: Any) -> dict[str, Any]:
        verbs: dict[str, Callable[..., dict[str, Any]]] = {
            "each": self._each,
            "many": self._many,
            "paced": self._paced,
            "ask": self._ask,
        }
        return verbs[verb](**order)

    def _each(self, count: int) -> dict[str, Any]:
        with stopwatch() as taken:
            for number in range(count):
                self.enqueue(number)
        return taken

    def _many(self, count: int) -> dict[str, Any]:
        with stopwatch() as taken:
            self.enqueue_many(range(count))
        return taken

    def _paced(self, count: int, gap_s: float) -> dict[str, Any]:
        sent_ns = []
        begin_s = time.monotonic()
        for number in range(count):
            time.sleep(max(0.0, begin_s + number * gap_s - time.monotonic()))
            sent_ns.append(time.monotonic_ns())
            self.enqueue(number)
        return {"sent_ns": sent_ns}

    def _ask(self, number: int) -> dict[str, Any]:
        return {"result": self.result(self.enqueue(number))}


class Asyncio(Contender):
    """A library with producers on an event loop."""

    def __init__(self, brief: Brief) -> None:
        super().__init__(brief)
        self._runner: asyncio.Runner | None = None

    @abstractmethod
    async def open(self) -> None:
        """Make ready to enqueue."""

    @abstractmethod
    async def enqueue(self, number: int) -> Any:
        """Enqueue task *number*; return what its result can be asked from."""

    @abstractmethod
    async def result(self, handle: Any) -> Any:
        """Wait for the result of the task, and return it."""

    async def enqueue_many(self, numbers: Sequence[int]) -> None:
        """Enqueue tasks; here by many coroutines, for libraries that have no better way."""
        await in_coroutines(self.enqueue, numbers)

    def obey(self, verb: str, **order: Any) -> dict[str, Any]:
        verbs: dict[str, Callable[..., Awaitable[dict[str, Any]]]] = {
            "each": self._each,
            "many": self._many,
            "coroutines": self._coroutines,
            "paced": self._paced,
            "ask": self._ask,
        }
        if self._runner is None:
            self._runner = asyncio.Runner()
            self._runner.run(self.open())
        carried_out: dict[str, Any] = self._runner.run(_awaited(verbs[verb](**order)))
        return carried_out

    async def _each(self, count: int) -> dict[str, Any]:
        with stopwatch() as taken:
            for number in range(count):
                await self.enqueue(number)
        return taken

    async def _many(self, count: int) -> dict[str, Any]:
        with stopwatch() as taken:
            await self.enqueue_many(range(count))
        return taken

    async def _coroutines(self, count: int) -> dict[str, Any]:
        with stopwatch() as taken:
            await in_coroutines(self.enqueue, range(count))
        return taken

    async def _paced(self, count: int, gap_s: float) -> dict[str, Any]:
        sent_ns = []
        begin_s = time.monotonic()
        for number in range(count):
            await asyncio.sleep(max(0.0, begin_s + number * gap_s - time.monotonic()))
            sent_ns.append(time.monotonic_ns())
            await self.enqueue(number)
        return {"sent_ns": sent_ns}

    async def _ask(self, number: int) -> dict[str, Any]:
        return {"result": await self.result(await self.enqueue(number))}


async def in_coroutines(enqueue: Callable[[int], Awaitable[Any]], numbers: Sequence[int]) -> None:
    """Enqueue *numbers* by `COROUTINES` coroutines, each one after the other."""

    async def caller(own: Sequence[int]) -> None:
        for number in own:
            await enqueue(number)

    await asyncio.gather(*(caller(numbers[start::COROUTINES]) for start in range(COROUTINES)))


def take_part(kind: Callable[[Brief], Contender]) -> None:
    """Run the process that the command line describes."""
    role, brief = sys.argv[1:]
    logging.basicConfig(level=logging.WARNING)
    use_uvloop()
    contender = kind(Brief(**json.loads(brief)))
    if role == "work":
        contender.work()
    else:
        obey_orders(contender.obey)


async def _awaited(obeying: Awaitable[dict[str, Any]]) -> dict[str, Any]:
    return await obeying
