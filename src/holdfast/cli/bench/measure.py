"""Measure an action: repeat it for some seconds."""

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
"""Repetitions of an action at most."""


@dataclass(frozen=True, slots=True)
class Measurement:
    """Holds the result of a measurement.

    Attributes:
        name: the name of the action.
        count: the number of repetitions.
        seconds: the seconds that all repetitions took together.
        cpu: the processor time of all threads of this program, in seconds.
        took: the seconds of each repetition, sorted; empty if they were not timed one by one.
    """

    name: str
    count: int
    seconds: float
    cpu: float
    took: Sequence[float] = ()

    @property
    def per_second(self) -> float:
        """Return the repetitions per second."""
        return self.count / self.seconds

    @property
    def cpu_share(self) -> float:
        """Return the share of one core that this program used; it may be above 1."""
        return self.cpu / self.seconds

    def percentile_ms(self, part: float) -> float | None:
        """Return the milliseconds within which the share *part* of the repetitions ended."""
        return self.took[int(part * (len(self.took) - 1))] * 1000 if self.took else None

    def as_json(self) -> dict[str, Any]:
        """Return the object that `--json` prints."""
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
    """Measures time and processor time from its creation on."""

    def __init__(self) -> None:
        self._began_s, self._cpu_s = time.perf_counter(), time.process_time()

    def measure(
        self, name: str, took: Sequence[float], *, each: int = 1, timed: bool = True
    ) -> Measurement:
        """Return the result; each repetition did *each* actions."""
        seconds = time.perf_counter() - self._began_s
        cpu = time.process_time() - self._cpu_s
        return Measurement(name, each * len(took), seconds, cpu, sorted(took) if timed else ())


def repeat(
    name: str, action: Callable[[], object], seconds: float, *, each: int = 1, most: int = MOST
) -> Measurement:
    """Repeat *action* for some *seconds*; the first time does not count.

    Args:
        name: name of the action.
        action: the action.
        seconds: how long to repeat it.
        each: actions of one repetition; more than one are not timed one by one.
        most: maximum number of repetitions.
    """
    action()
    watch = Stopwatch()
    return watch.measure(name, _timed(action, seconds, most), each=each, timed=each == 1)


def repeat_in_threads(
    name: str, action: Callable[[], object], seconds: float, threads: int
) -> Measurement:
    """Repeat *action* in several threads at once."""
    ready = threading.Barrier(threads + 1)

    def one() -> list[float]:
        action()  # opens the connection of this thread
        ready.wait()
        return _timed(action, seconds, MOST // threads)

    with ThreadPoolExecutor(threads) as pool:
        running = [pool.submit(one) for _ in range(threads)]
        ready.wait()
        watch = Stopwatch()
        return watch.measure(name, [*chain.from_iterable(each.result() for each in running)])


async def repeat_in_coroutines(
    name: str, action: Callable[[], Awaitable[object]], seconds: float, coroutines: int
) -> Measurement:
    """Repeat *action* in several coroutines at once."""
    await action()
    watch = Stopwatch()
    until_s, took = time.perf_counter() + seconds, list[float]()

    async def one() -> None:
        while not took or (time.perf_counter() < until_s and len(took) < MOST):
            began_s = time.perf_counter()
            await action()
            took.append(time.perf_counter() - began_s)

    await asyncio.gather(*(one() for _ in range(coroutines)))
    return watch.measure(name, took)


def _timed(action: Callable[[], object], seconds: float, most: int) -> list[float]:
    took = list[float]()
    until_s = time.perf_counter() + seconds
    while not took or (time.perf_counter() < until_s and len(took) < most):
        began_s = time.perf_counter()
        action()
        took.append(time.perf_counter() - began_s)
    return took
