"""What a call costs the client, by part: processor time of its steps, alone and together.

Each line holds those above it that belong to it: the time of a connection includes packing and
parsing, what a call costs with its connection. The difference is its own.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Iterator
from statistics import median
from typing import Any, Final

import hiredis

from holdfast.core._async.caller import AsyncCaller
from holdfast.core._sync.caller import Caller
from holdfast.core.transport._async.connection import AsyncConnection
from holdfast.core.transport._sync.connection import Connection
from holdfast.core.transport.outcome import outcome_of
from holdfast.core.transport.request import Request
from holdfast.core.transport.settings import Settings

from .calls import KEY, SCRIPT, UNIT
from .harness import BenchmarkRun, Case, interleaved
from .report import Table

COUNT: Final = 4_000
TOGETHER: Final = 50
KEYS: Final = (KEY,)


def run(bench: BenchmarkRun) -> Iterator[Table]:
    """Measure both halves."""
    settings = Settings.from_url(bench.server.url)
    address = settings.addresses[0]
    connection, caller = Connection(settings, address), Caller(settings)
    caller.call(SCRIPT, UNIT, KEYS, [1])  # loads the script
    with asyncio.Runner() as runner:
        on_loop = _OnLoop(runner, settings)
        cases = [
            Case("packing a request", _again(_packed)),
            Case("parsing its reply", _parsed),
            Case("blocking: a connection", _again(lambda: connection.submit(_packed()))),
            Case("blocking: a call", _again(lambda: caller.call(SCRIPT, UNIT, KEYS, [1]))),
            Case("asyncio, 1 at a time: a connection", lambda count: on_loop.submissions(count, 1)),
            Case("asyncio, 1 at a time: a call", lambda count: on_loop.calls(count, 1)),
            Case(
                f"asyncio, {TOGETHER}: a connection",
                lambda count: on_loop.submissions(count, TOGETHER),
            ),
            Case(f"asyncio, {TOGETHER}: a call", lambda count: on_loop.calls(count, TOGETHER)),
        ]
        samples = interleaved(cases, bench.rounds, bench.scaled(COUNT), bench.server)
        on_loop.close()
    connection.close()
    caller.close()
    yield Table(
        "calls, client CPU by part",
        ("part", "client µs"),
        [
            [name, median(one.client_s or 0.0 for one in taken) * 1e6]
            for name, taken in samples.items()
        ],
        rounds=bench.rounds,
    )


class _OnLoop:
    """Connections and calls of the asyncio half."""

    def __init__(self, runner: asyncio.Runner, settings: Settings) -> None:
        self._runner = runner
        self._caller = AsyncCaller(settings)
        self._connection: AsyncConnection = runner.run(_connection_of(settings))

    def submissions(self, count: int, together: int) -> None:
        """Submit requests to a connection, so many at a time."""
        connection = self._connection

        async def one_after_another(times: int) -> None:
            for _ in range(times):
                await connection.submit(_packed())

        self._runner.run(_side_by_side(one_after_another, count, together))

    def calls(self, count: int, together: int) -> None:
        """Make calls, so many at a time."""
        caller = self._caller

        async def one_after_another(times: int) -> None:
            for _ in range(times):
                await caller.call(SCRIPT, UNIT, KEYS, [1])

        self._runner.run(_side_by_side(one_after_another, count, together))

    def close(self) -> None:
        """Close the connections."""
        self._runner.run(self._connection.close())
        self._runner.run(self._caller.close())


async def _connection_of(settings: Settings) -> AsyncConnection:
    return AsyncConnection(settings, settings.addresses[0])


async def _side_by_side(
    work: Callable[[int], Coroutine[Any, Any, None]], count: int, together: int
) -> None:
    await asyncio.gather(*(work(count // together) for _ in range(together)))


def _again(step: Callable[[], object]) -> Callable[[int], None]:
    """Return work that repeats a step so many times."""

    def work(count: int) -> None:
        for _ in range(count):
            step()

    return work


def _packed() -> Request:
    return Request.of_script(SCRIPT.sha1, KEYS, [1])


def _parsed(count: int) -> None:
    reader, asked = hiredis.Reader(), ("127.0.0.1", 6379)
    for _ in range(count):
        reader.feed(b":12345\r\n")
        outcome_of(reader.gets(), asked)
