"""Results that the server has: one after the other, in threads, and by 50 coroutines."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from typing import Final

from holdfast import AsyncHoldfast

from ..harness import BenchmarkRun, Case, best, comparison, interleaved
from ..report import Table
from .contenders import ASYNC, BLOCKING, Coroutine, Function, Result, profile_of

COROUTINES: Final = 50
THREADS: Final = 8
COUNT: Final = 1_000
USERS: Final = 100

TARGET: Final = 4.0

IN_PROCESS: Final = "functools.lru_cache (one process)"


def run(bench: BenchmarkRun) -> Iterator[Table]:
    """Call with a hundred arguments in turn; all results are stored."""
    bench.server.clear()
    url, notes = bench.server.url, list[str]()
    with ExitStack() as ending, asyncio.Runner() as runner:
        functions: dict[str, Function] = {}
        for name, make in BLOCKING.items():
            try:
                functions[name] = make(url, profile_of, ending)
            except Exception as error:  # noqa: BLE001 (a rival refuses the server)
                notes.append(f"{name}: {str(error).splitlines()[0]}")
        for title, how in (
            ("hits, one after the other", _each),
            (f"hits, {THREADS} threads", lambda function: _in_threads(function, ending)),
        ):
            cases = [Case(name, how(function)) for name, function in functions.items()]
            yield _compared(bench, title, cases, COUNT, notes, target=None)

        hf = AsyncHoldfast.from_url(url, namespace="benchmarks")
        coroutines = {
            name: runner.run(_made(make, url, hf))  # type: ignore[arg-type]
            for name, make in ASYNC.items()
        }
        for many, target in ((1, None), (COROUTINES, TARGET)):
            cases = [
                Case(name, _in_coroutines(runner, each, many)) for name, each in coroutines.items()
            ]
            title = f"hits, {many} coroutine{'s' if many > 1 else ''}"
            yield _compared(bench, title, cases, COUNT * (2 if many > 1 else 1), [], target)
        runner.run(hf.close())


async def _made(make: Callable[..., object], url: str, hf: AsyncHoldfast) -> Coroutine:
    async def function(user_id: int) -> Result:
        return profile_of(user_id)

    cached: Coroutine = await make(url, function, hf)  # type: ignore[misc]
    return cached


def _compared(
    bench: BenchmarkRun,
    title: str,
    cases: list[Case],
    count: int,
    notes: list[str],
    target: float | None,
) -> Table:
    ours, *rivals = cases
    samples = interleaved(cases, bench.rounds, bench.scaled(count), bench.server)
    others = [case for case in rivals if case.name != IN_PROCESS]
    targets = [] if target is None else [best(samples, ours, others, target)]
    return comparison(title, samples, ours, rivals, targets, notes)


def _each(function: Function) -> Callable[[int], object]:
    def work(count: int) -> None:
        for n in range(count):
            assert function(n % USERS)["id"] == n % USERS

    return work


def _in_threads(function: Function, ending: ExitStack) -> Callable[[int], object]:
    pool = ending.enter_context(ThreadPoolExecutor(THREADS))
    one = _each(function)
    return lambda count: [*pool.map(one, [max(1, count // THREADS)] * THREADS)]


def _in_coroutines(
    runner: asyncio.Runner, function: Coroutine, many: int
) -> Callable[[int], object]:
    async def caller(first: int, count: int) -> None:
        for n in range(first, first + count):
            assert (await function(n % USERS))["id"] == n % USERS

    async def work(count: int) -> None:
        each = max(1, count // many)
        await asyncio.gather(*[caller(n * each, each) for n in range(many)])

    return lambda count: runner.run(work(count))
