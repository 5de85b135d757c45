"""Both halves of Holdfast, driven alike by blocking programs: `Half`."""

import asyncio
import inspect
import random
import threading
import time
from collections.abc import Awaitable, Callable
from typing import Any

from faults.access import opened
from faults.stubborn import STUBBORN_S
from faults.waiting import POLL_S
from holdfast import AsyncHoldfast, Holdfast, HoldfastError, OutcomeUnknown, ServerUnavailable

HALVES = {"sync": Holdfast, "async": AsyncHoldfast}

LULL = 0.1
LONGER = 100
"""This share of all awaits the storm lets go on for so much longer: however slow the machine is,
something gets done."""


class Interrupted(Exception):
    """The storm cancelled a call: it is unknown whether the call was applied."""


class Half:
    """One half; close it at the end. Threads may share it: in asyncio they share its one loop.

    Args:
        name: `sync` or `async`.
        storm_s: seconds after which, at most, what is awaited is cancelled, but for a lull now and
            then; 0: never.
    """

    def __init__(self, name: str, *, storm_s: float = 0.0) -> None:
        self.name = name
        self._kind = HALVES[name]
        self._storm_s = storm_s
        self._clients: list[Any] = []
        self._runner = asyncio.Runner()
        self._thread: threading.Thread | None = None
        if name == "async":
            self._ended = asyncio.Event()
            loop = self._runner.get_loop()
            self._thread = threading.Thread(target=self._turn, name="loop", daemon=True)
            self._thread.start()
            self._loop = loop

    def client(self, url: str, namespace: str, access: str = "") -> Any:
        """Return a client of this half; it is closed with it."""
        client = opened(self._kind, url, namespace, access)
        self._clients.append(client)
        return client

    def do(self, answer: Any) -> Any:
        """Return the result of a method; of an asyncio method, the awaited one.

        Raises:
            Interrupted: it was cancelled by the storm.
        """
        if not inspect.isawaitable(answer):
            return answer
        return asyncio.run_coroutine_threadsafe(
            _awaited(answer, self._let_s()), self._loop
        ).result()

    def insist(self, do: Callable[[], Any]) -> Any:
        """Do something exactly once, in the documented ways, whatever the server does meanwhile."""
        problem: HoldfastError
        deadline_s = time.monotonic() + STUBBORN_S
        while True:
            try:
                return self.do(do())
            except OutcomeUnknown as error:
                do, problem = error.repeat, error
            except ServerUnavailable as error:
                problem = error
            if time.monotonic() > deadline_s:
                raise problem
            time.sleep(POLL_S)

    def close(self) -> None:
        """Close every client, then the loop."""
        self._storm_s = 0.0
        for client in self._clients:
            self.do(client.close())
        if self._thread is not None:
            self._loop.call_soon_threadsafe(self._ended.set)
            self._thread.join()
        self._runner.close()

    def _let_s(self) -> float | None:
        """Return after how many seconds the storm cancels a call; None if it does not."""
        if not self._storm_s:
            return None
        return random.uniform(0, self._storm_s) * (LONGER if random.random() < LULL else 1)

    def _turn(self) -> None:
        self._runner.run(self._live())

    async def _live(self) -> None:
        await self._ended.wait()


async def _awaited(answer: Awaitable[Any], let_s: float | None) -> Any:
    if let_s is None:
        return await answer
    task = asyncio.ensure_future(answer)
    done, _ = await asyncio.wait({task}, timeout=let_s)
    if not done:
        task.cancel()
    try:
        return await task
    except asyncio.CancelledError:
        raise Interrupted from None
