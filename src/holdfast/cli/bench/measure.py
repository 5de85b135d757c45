"""One measurement: the same thing again and again, for a while."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Awaitable, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import chain
from typing import Any, Final

MOST: Final = 100_000
"""Times that anything is done."""


@dataclass(frozen=True, slots=True)
class Measure:
    """What was measured.

    Attributes:
        name: of what was done.
        count: how often.
        seconds: for how long.
        cpu: seconds of processor time that this program took meanwhile, all its threads together.
        took: seconds of each, in order; empty: they were not timed one by one.
    """

    name: str
    count: int
    seconds: float
    cpu: float
    took: Sequence[float] = ()

    @property
    def per_second(self) -> float:
        """How often in a second."""
        return self.count / self.seconds

    @property
    def cpu_share(self) -> float:
        """The part of one core that this program used."""
        return self.cpu / self.seconds

    def percentile_ms(self, part: float) -> float | None:
        """What *part* of them took at most, in milliseconds."""
        return self.took[int(part * (len(self.took) - 1))] * 1000 if self.took else None

    def as_json(self) -> dict[str, Any]:
        """For scripts."""
        return {
            "name": self.name,
            "per_second": self.per_second,
            "count": self.count,
            "seconds": self.seconds,
            "p50_ms": self.percentile_ms(0.5),
            "p99_ms": self.percentile_ms(0.99),
            "cpu_share": self.cpu_share,
        }


class Stopwatch:
    """Measures time, and processor time, from when it is made."""

    def __init__(self) -> None:
        self._began_s, self._cpu_s = time.perf_counter(), time.process_time()

    def measure(
        self, name: str, took: Sequence[float], *, each: int = 1, timed: bool = True
    ) -> Measure:
        """What was done since, each time as much as *each* says."""
        seconds = time.perf_counter() - self._began_s
        cpu = time.process_time() - self._cpu_s
        return Measure(name, each * len(took), seconds, cpu, sorted(took) if timed else ())


def again(
    name: str, deed: Callable[[], object], seconds: float, *, each: int = 1, most: int = MOST
) -> Measure:
    """Do *deed* one after the other, so many *seconds* long; the first time does not count.

    Args:
        name: of what is done.
        deed: does it.
        seconds: how long.
        each: how much is done at each time; more than one is not timed one by one.
        most: times.
    """
    deed()
    watch = Stopwatch()
    return watch.measure(name, _timed(deed, seconds, most), each=each, timed=each == 1)


def in_threads(name: str, deed: Callable[[], object], seconds: float, threads: int) -> Measure:
    """The same in several threads at once."""
    ready = threading.Barrier(threads + 1)

    def one() -> list[float]:
        deed()  # each thread has a connection of its own
        ready.wait()
        return _timed(deed, seconds, MOST // threads)

    with ThreadPoolExecutor(threads) as pool:
        running = [pool.submit(one) for _ in range(threads)]
        ready.wait()
        watch = Stopwatch()
        return watch.measure(name, [*chain.from_iterable(each.result() for each in running)])


async def together(
    name: str, deed: Callable[[], Awaitable[object]], seconds: float, coroutines: int
) -> Measure:
    """The same in several coroutines at once."""
    await deed()
    watch = Stopwatch()
    until_s, took = time.perf_counter() + seconds, list[float]()

    async def one() -> None:
        while not took or (time.perf_counter() < until_s and len(took) < MOST):
            began_s = time.perf_counter()
            await deed()
            took.append(time.perf_counter() - began_s)

    await asyncio.gather(*(one() for _ in range(coroutines)))
    return watch.measure(name, took)


def _timed(deed: Callable[[], object], seconds: float, most: int) -> list[float]:
    took = list[float]()
    until_s = time.perf_counter() + seconds
    while not took or (time.perf_counter() < until_s and len(took) < most):
        began_s = time.perf_counter()
        deed()
        took.append(time.perf_counter() - began_s)
    return took
