"""One worker fires what is due; the others do not all ask the server at each instant."""

import asyncio
from contextlib import AsyncExitStack
from typing import Any

import pytest

from faults.servers import Server
from faults.waiting import eventually_async
from holdfast import AsyncHoldfast, Every
from holdfast.queues._async.schedule_store import AsyncScheduleStore
from queues.schedule.scheduled_tasks import ran, report, running_async, tasks

WORKERS = 8
SCHEDULES = 25
SECONDS = 2


async def test_workers_that_are_late_ask_less_often(
    standalone: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = 0
    page = AsyncScheduleStore.page

    async def counted(*args: Any, **options: Any) -> Any:
        nonlocal asked
        asked += 1
        return await page(*args, **options)

    monkeypatch.setattr(AsyncScheduleStore, "page", counted)
    ran.clear()
    async with (
        AsyncHoldfast.from_url(standalone.url, namespace="standby") as hf,
        AsyncExitStack() as running,
    ):
        for n in range(SCHEDULES):
            await hf.schedule(f"s{n}", report.call(), Every(1, phase=n / SCHEDULES))
        for _ in range(WORKERS):
            await running.enter_async_context(running_async(hf.worker(tasks)))
        await eventually_async(lambda: bool(ran), 30)
        before, done = asked, len(ran)
        await asyncio.sleep(SECONDS)
        # About 5 for each that is fired; 14, if all asked for each.
        assert asked - before < 10 * (len(ran) - done)
        await eventually_async(lambda: len(ran) >= done + SCHEDULES * (SECONDS - 1), 30)
