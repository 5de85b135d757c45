"""What an adapter of a library implements, and the process that it becomes.

`python -m benchmarks.leases.contenders.NAME BRIEF`, the brief as JSON. The process reads orders
from its standard input and answers them (`..orders`):

    connect {name, …}   each caller has the place once, one after the other
    contend {…Rules}    all its callers want the same place until the time is over
    cycle {count}       each caller takes and releases its own lock, so many times together
    keep, let_go        hold the lock that `visit` waits for
    visit               wait for it, and give it back
"""

from __future__ import annotations

import asyncio
import gc
import json
import logging
import sys
import time
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import (
    AbstractAsyncContextManager,
    AbstractContextManager,
    AsyncExitStack,
    ExitStack,
)
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, Final

from ..loops import use_uvloop
from ..orders import obey_orders
from ..stopwatch import stopwatch
from .occupancy import Occupancy
from .visits import Rules, Visits

KEPT: Final = "kept"
"""The lock of `keep` and `visit`."""

Hold = Callable[[], AbstractContextManager[Any]]
AsyncHold = Callable[[], AbstractAsyncContextManager[Any]]


@dataclass(frozen=True, slots=True)
class Brief:
    """The arguments of a process of a contender.

    Attributes:
        url: of the server.
        occupancy: the file of the `Occupancy`.
        first: number of its first caller in the `Occupancy`.
        callers: threads or coroutines that it has.
        lease_s: whole seconds after which a place without a sign of life is free.
        options: of the library, for this contender.
    """

    url: str
    occupancy: str
    first: int
    callers: int
    lease_s: int
    options: dict[str, Any]


class Contender(ABC):
    """One library in one process.

    Args:
        brief: what to do it with.
    """

    def __init__(self, brief: Brief) -> None:
        self.brief = brief
        self._occupancy = Occupancy(Path(brief.occupancy))

    @abstractmethod
    def obey(self, verb: str, **order: Any) -> dict[str, Any]:
        """Carry out one order, and answer it."""

    def _visits(self, caller: int, rules: Rules) -> Visits:
        return Visits(self._occupancy, self.brief.first + caller, rules)

    def _shares(self, count: int) -> list[int]:
        """Split *count* into equal whole numbers, one for each caller."""
        callers = self.brief.callers
        return [count * (i + 1) // callers - count * i // callers for i in range(callers)]


class Blocking(Contender):
    """A library with blocking calls: its callers are threads."""

    def __init__(self, brief: Brief) -> None:
        super().__init__(brief)
        self._stack = ExitStack()
        self._pool = ThreadPoolExecutor(brief.callers) if brief.callers > 1 else None
        self._hold = lru_cache(None)(self._made)

    @abstractmethod
    def lock(self, name: str) -> Hold:
        """Return how one caller holds the lock *name*."""

    def semaphore(self, name: str, limit: int) -> Hold:
        """Return how one caller holds a permit of the semaphore *name*, if the library has any."""
        raise NotImplementedError

    def _made(self, caller: int, name: str, limit: int | None) -> Hold:
        del caller  # each has its own
        return self.lock(name) if limit is None else self.semaphore(name, limit)

    def obey(self, verb: str, **order: Any) -> dict[str, Any]:
        verbs: dict[str, Callable[..., dict[str, Any]]] = {
            "connect": self._connect,
            "contend": self._contend,
            "cycle": self._cycle,
            "keep": self._keep,
            "let_go": self._let_go,
            "visit": self._visit,
        }
        return verbs[verb](**order)

    def _connect(self, name: str, limit: int | None) -> dict[str, Any]:
        for caller in range(self.brief.callers):
            with self._hold(caller, name, limit)():
                pass
        return {}

    def _contend(self, **order: Any) -> dict[str, Any]:
        rules = Rules(**order)
        callers = range(rules.callers or self.brief.callers)
        holds = [self._hold(caller, rules.name, rules.limit) for caller in callers]
        gc.collect()
        cpu_s = time.process_time()
        result = self._in_callers(self._contender, holds, [rules] * len(holds))
        return {"callers": result, "cpu_s": time.process_time() - cpu_s}

    def _contender(self, caller: int, hold: Hold, rules: Rules) -> dict[str, Any]:
        visits = self._visits(caller, rules)
        time.sleep(rules.left_s())
        while visits.asks():
            with hold():
                visits.enters()
                if rules.hold_s:
                    time.sleep(rules.hold_s)
                visits.leaves()
        return visits.result()

    def _cycle(self, count: int) -> dict[str, Any]:
        holds = [self._hold(caller, f"own-{caller}", None) for caller in range(self.brief.callers)]
        with stopwatch() as taken:
            self._in_callers(self._cycler, holds, self._shares(count))
        return taken

    def _cycler(self, caller: int, hold: Hold, count: int) -> None:
        del caller
        for _ in range(count):
            with hold():
                pass

    def _in_callers(self, work: Callable[..., Any], *arguments: Sequence[Any]) -> list[Any]:
        mapped = map if self._pool is None else self._pool.map
        return list(mapped(work, range(self.brief.callers), *arguments))

    def _keep(self) -> dict[str, Any]:
        self._stack.enter_context(self._hold(0, KEPT, None)())
        return {}

    def _let_go(self) -> dict[str, Any]:
        self._stack.close()
        return {}

    def _visit(self) -> dict[str, Any]:
        cpu_s = time.process_time()
        with self._hold(0, KEPT, None)():
            return {"cpu_s": time.process_time() - cpu_s}


class Asyncio(Contender):
    """A library on an event loop: its callers are coroutines."""

    def __init__(self, brief: Brief) -> None:
        super().__init__(brief)
        self._runner = asyncio.Runner()
        self._stack = AsyncExitStack()
        self._hold = lru_cache(None)(self._made)
        self._runner.run(self.open())

    @abstractmethod
    async def open(self) -> None:
        """Make ready."""

    @abstractmethod
    def lock(self, name: str) -> AsyncHold:
        """Return how one caller holds the lock *name*."""

    def _made(self, caller: int, name: str) -> AsyncHold:
        del caller  # each has its own
        return self.lock(name)

    def obey(self, verb: str, **order: Any) -> dict[str, Any]:
        verbs: dict[str, Callable[..., Awaitable[dict[str, Any]]]] = {
            "connect": self._connect,
            "contend": self._contend,
            "cycle": self._cycle,
            "keep": self._keep,
            "let_go": self._let_go,
            "visit": self._visit,
        }
        carried_out: dict[str, Any] = self._runner.run(_awaited(verbs[verb](**order)))
        return carried_out

    async def _connect(self, name: str, limit: None) -> dict[str, Any]:
        del limit  # only locks are measured here
        for caller in range(self.brief.callers):
            async with self._hold(caller, name)():
                pass
        return {}

    async def _contend(self, **order: Any) -> dict[str, Any]:
        rules = Rules(**order)
        holds = [
            self._hold(caller, rules.name) for caller in range(rules.callers or self.brief.callers)
        ]
        gc.collect()
        cpu_s = time.process_time()
        result = await asyncio.gather(
            *(self._contender(caller, hold, rules) for caller, hold in enumerate(holds))
        )
        return {"callers": result, "cpu_s": time.process_time() - cpu_s}

    async def _contender(self, caller: int, hold: AsyncHold, rules: Rules) -> dict[str, Any]:
        visits = self._visits(caller, rules)
        await asyncio.sleep(rules.left_s())
        while visits.asks():
            async with hold():
                visits.enters()
                if rules.hold_s:
                    await asyncio.sleep(rules.hold_s)
                visits.leaves()
        return visits.result()

    async def _cycle(self, count: int) -> dict[str, Any]:
        holds = [self._hold(caller, f"own-{caller}") for caller in range(self.brief.callers)]
        with stopwatch() as taken:
            await asyncio.gather(*map(_cycled, holds, self._shares(count)))
        return taken

    async def _keep(self) -> dict[str, Any]:
        await self._stack.enter_async_context(self._hold(0, KEPT)())
        return {}

    async def _let_go(self) -> dict[str, Any]:
        await self._stack.aclose()
        return {}

    async def _visit(self) -> dict[str, Any]:
        cpu_s = time.process_time()
        async with self._hold(0, KEPT)():
            return {"cpu_s": time.process_time() - cpu_s}


async def _cycled(hold: AsyncHold, count: int) -> None:
    for _ in range(count):
        async with hold():
            pass


async def _awaited(obeying: Awaitable[dict[str, Any]]) -> dict[str, Any]:
    return await obeying


def take_part(kind: Callable[[Brief], Contender]) -> None:
    """Run the process that the command line describes."""
    logging.basicConfig(level=logging.WARNING)
    use_uvloop()
    obey_orders(kind(Brief(**json.loads(sys.argv[1]))).obey)
