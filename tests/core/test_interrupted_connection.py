"""Signal handlers that raise inside the callbacks of an asyncio connection; the loop goes on."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import random
import signal
import sys
import time
from collections.abc import Iterator
from itertools import count
from pathlib import Path

import pytest

from faults.interrupts import SOURCE, Interrupt, handler, interrupted_at
from faults.proxy import Proxy
from faults.waiting import eventually
from holdfast.core.transport._async.connection import AsyncConnection
from holdfast.core.transport.outcome import Outcome, Replied
from holdfast.core.transport.request import Request
from holdfast.core.transport.settings import Settings

CALLBACKS = str(Path(SOURCE) / "core" / "transport")
TIMEOUT_S = 0.4
HANGS_S = 20.0
STRIDE = 29
"""Every so many steps are interrupted in `make test`."""

RAISED = [Interrupt, KeyboardInterrupt, TimeoutError]


@pytest.fixture
def loop() -> Iterator[asyncio.AbstractEventLoop]:
    """Reports nothing of the interruptions."""
    loop = asyncio.new_event_loop()
    loop.set_exception_handler(lambda *_: None)
    yield loop
    loop.close()


@pytest.fixture(autouse=True)
def unraisable(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Drop what Python reports of a coroutine that an exception kept from becoming a task."""
    with monkeypatch.context() as patched:
        patched.setattr(sys, "unraisablehook", lambda _: None)
        yield
        gc.collect()  # here, and not in another test


class Program:
    """Coroutines that make calls on one connection, in a loop that is run again and again."""

    def __init__(self, loop: asyncio.AbstractEventLoop, url: str) -> None:
        self.loop = loop
        self._words = count()
        self._settings = Settings.from_url(f"{url}?socket_timeout={TIMEOUT_S}")
        self._tasks: list[asyncio.Task[bool]] = []
        self._sent: list[tuple[str, asyncio.Future[Outcome]]] = []
        self.connection = loop.run_until_complete(self._opened())

    async def _opened(self) -> AsyncConnection:
        return AsyncConnection(self._settings, self._settings.addresses[0])

    def use(self, callers: int = 2, calls: int = 2) -> None:
        """Have *callers* make so many calls each, one after another."""
        self._tasks = [self.loop.create_task(self.call(calls)) for _ in range(callers)]
        self.loop.run_until_complete(asyncio.wait(self._tasks))

    async def call(self, calls: int) -> bool:
        """Return whether each call was answered; fail if one got the reply of another."""
        outcomes = []
        for _ in range(calls):
            word = str(next(self._words))
            answer = self.connection.submit(Request.of("ECHO", word))
            self._sent.append((word, answer))
            outcomes.append(is_reply(await answer, word))
        return all(outcomes)

    def check_answered(self) -> None:
        """Run on: each call since the last check ends in time, and none got the reply of another.

        This asks the calls, not their callers: the loop may have lost the step of a caller.
        """
        sent, self._sent = self._sent, []
        if not sent:
            return
        waiting = asyncio.wait([answer for _, answer in sent], timeout=HANGS_S)
        _, hanging = self.loop.run_until_complete(waiting)
        assert not hanging
        for word, answer in sent:
            if not answer.cancelled():
                is_reply(answer.result(), word)

    def check_ended(self) -> None:
        """Run on: each call ends in time, and none got the reply of another."""
        if not self._tasks:
            return
        waiting = asyncio.wait(self._tasks, timeout=HANGS_S)
        _, hanging = self.loop.run_until_complete(waiting)
        assert not hanging
        for task in self._tasks:
            if not isinstance(task.exception(), (*RAISED, type(None))):
                task.result()

    def check_works(self) -> None:
        """Check that all calls are answered after one round, which may notice the interruption."""
        self.use()
        self.check_ended()
        self.use()
        assert all(task.result() for task in self._tasks)

    def close(self) -> None:
        self.loop.run_until_complete(asyncio.wait_for(self.connection.close(), HANGS_S))


@pytest.mark.parametrize("raised", RAISED)
@pytest.mark.parametrize("stride", [STRIDE, pytest.param(1, marks=pytest.mark.long)])
def test_no_step_that_is_interrupted_mixes_up_replies_or_hangs(
    proxy: Proxy,
    loop: asyncio.AbstractEventLoop,
    raised: type[BaseException],
    stride: int,
) -> None:
    """From the first call, which opens the connection, on."""
    for step in count(random.randint(1, stride), stride):
        program = Program(loop, proxy.url)
        begun = time.monotonic()
        place = interrupted_at(step, program.use, files=CALLBACKS, raised=raised)
        program.check_ended()
        took_s = time.monotonic() - begun
        program.check_works()
        program.close()
        assert took_s < HANGS_S / 2, place
        eventually(lambda: proxy.open_connections == 0, timeout=10, reason=f"closed after {place}")
        if place is None:
            break
    assert step > 100


@pytest.mark.parametrize("raised", RAISED)
@pytest.mark.parametrize("seconds", [1, pytest.param(20, marks=pytest.mark.long)])
def test_signals_at_random_times_mix_up_no_replies(
    proxy: Proxy, loop: asyncio.AbstractEventLoop, raised: type[BaseException], seconds: float
) -> None:
    """A signal may make the loop lose a callback, and with it the step of a caller."""
    program, callers = Program(loop, proxy.url), list[asyncio.Task[bool]]()
    until = time.monotonic() + seconds

    async def struck(calling: list[asyncio.Task[bool]]) -> None:
        try:
            signal.setitimer(signal.ITIMER_REAL, random.uniform(0.0001, 0.02))
            await asyncio.wait(calling, timeout=0.1)
        finally:  # no signal comes while the loop begins or ends
            signal.setitimer(signal.ITIMER_REAL, 0)

    with handler(raised):
        while time.monotonic() < until:
            begun = [loop.create_task(program.call(50)) for _ in range(5)]
            callers += begun
            task = loop.create_task(struck(begun))
            with contextlib.suppress(*RAISED, asyncio.CancelledError):
                # A signal may keep the loop from resuming the task at all.
                loop.run_until_complete(asyncio.wait([task], timeout=1))
            signal.setitimer(signal.ITIMER_REAL, 0)
            for caller in random.choice([begun, []]):
                caller.cancel()
            program.check_answered()
    for caller in callers:
        caller.cancel()
    program.check_answered()
    program.check_works()
    program.close()


def is_reply(outcome: Outcome, word: str) -> bool:
    """Return whether a call was answered; fail if with the reply of another."""
    if not isinstance(outcome, Replied):
        return False
    assert outcome.value == word.encode()
    return True
