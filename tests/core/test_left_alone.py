"""What takes too long is left alone, also if it does not heed that it is to end."""

import asyncio
from typing import Any

from faults.waiting import eventually_async
from holdfast.core.runtime._async import in_time


class Stubborn:
    """Work that cleans up for ever, as the driver of a database may that hangs."""

    def __init__(self) -> None:
        self.begun = asyncio.Event()
        self.heard = False
        self.free = asyncio.Event()

    async def work(self) -> None:
        """Go on until it is freed."""
        self.begun.set()
        try:
            await asyncio.sleep(3600)
        except asyncio.CancelledError:
            self.heard = True
            await self.free.wait()
            raise RuntimeError("which is nobody's any more") from None


async def test_when_the_time_is_over() -> None:
    stubborn, left = Stubborn(), set[Any]()
    caller = asyncio.create_task(in_time(0.01, stubborn.work, left=left))
    await asyncio.wait([caller], timeout=30)
    assert isinstance(caller.exception(), TimeoutError)
    await eventually_async(lambda: stubborn.heard)
    assert len(left) == 1
    stubborn.free.set()
    await eventually_async(lambda: not left)


async def test_when_the_caller_is_cancelled() -> None:
    stubborn, left = Stubborn(), set[Any]()
    caller = asyncio.create_task(in_time(3600, stubborn.work, left=left))
    await stubborn.begun.wait()
    caller.cancel()
    await asyncio.wait([caller], timeout=30)
    assert caller.cancelled()
    await eventually_async(lambda: stubborn.heard)
    assert len(left) == 1
    stubborn.free.set()
    await eventually_async(lambda: not left)
