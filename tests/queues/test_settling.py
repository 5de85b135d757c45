"""A worker settles the tasks that have ended, at most `STEP_LIMIT` of them in one step."""

import asyncio

import pytest

from holdfast import AsyncHoldfast, TaskRegistry
from holdfast.queues.worker import claimer
from holdfast.queues.worker.idle_pace import IdlePace
from holdfast.queues.worker.step import STEP_LIMIT


async def test_tasks_that_one_step_cannot_settle_wait_for_nothing(
    hf_async: AsyncHoldfast, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They all end at the same time, so nothing wakes the worker after the first step."""
    monkeypatch.setattr(IdlePace, "look_s", 60.0)
    monkeypatch.setattr(claimer, "_BUSY_QUEUE_S", 60.0)
    registry, all_run, running = TaskRegistry(), asyncio.Event(), []

    @registry.task(queue="work")
    async def ends_with_the_others(number: int) -> None:
        running.append(number)
        if len(running) == STEP_LIMIT + 2:
            all_run.set()
        await all_run.wait()

    await hf_async.enqueue_many([ends_with_the_others.call(n) for n in range(STEP_LIMIT + 2)])
    async with asyncio.timeout(20):
        await hf_async.worker(registry, concurrency=2 * STEP_LIMIT).run(until_idle=True)
    assert (await hf_async.queue("work").stats()).running == 0
