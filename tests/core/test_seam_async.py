"""The seam: what both halves wait and clean up with."""

import threading
from typing import Any

import pytest

from faults.waiting import eventually_async
from holdfast.core.concurrency._async.background_task import BackgroundTask
from holdfast.core.concurrency._async.cancellation import CancelScope, shielded
from holdfast.core.concurrency._async.primitives import AutoResetEvent, Event
from holdfast.core.concurrency._async.user_calls import CallbackRunner, call_with_timeout, can_call


async def test_a_nudge_is_lowered_by_the_wait_that_it_ends() -> None:
    nudge = AutoResetEvent()
    assert not await nudge.wait(0.01)
    nudge.set()
    nudge.set()
    assert await nudge.wait(None)
    assert not await nudge.wait(0)
    nudge.set()
    assert await nudge.wait(0)


async def test_a_callback_runs_aside() -> None:
    """Soon, and not within the call that asks for it."""
    ran = Event()
    CallbackRunner().run(ran.set)
    assert await ran.wait(5)


async def test_a_body_that_is_not_revoked_is_left_alone() -> None:
    revocation = CancelScope()
    assert not revocation.end(None)
    revocation.cancel()
    assert not await AutoResetEvent().wait(0.01)  # the task is not cancelled here
    assert not revocation.end(None)


async def test_what_a_revoked_body_raises_is_its_own() -> None:
    assert not CancelScope().end(KeyError())


async def answer(value: int) -> int:
    return value


async def test_work_is_seen_through() -> None:
    assert await shielded(answer(5)) == 5


def double(value: int) -> int:
    return 2 * value * (value // value)


async def test_a_function_that_ends_in_time() -> None:
    assert await call_with_timeout(20, double, 4, left=set()) == 8
    with pytest.raises(ZeroDivisionError):
        await call_with_timeout(20, double, 0, left=set())
    assert await call_with_timeout(20, answer, 5, left=set()) == 5
    assert can_call(answer)
    assert can_call(double)
    assert not can_call(5)


async def test_a_function_that_takes_too_long() -> None:
    go, ended, left = threading.Event(), Event(), set[Any]()

    def slow() -> None:
        go.wait(60)
        ended.set()

    with pytest.raises(TimeoutError):
        await call_with_timeout(0.05, slow, left=left)
    assert len(left) == 1
    go.set()
    assert await ended.wait(20)
    await eventually_async(lambda: not left)


async def test_work_goes_on_while_another_caller_comes_later() -> None:
    begun, go_on = Event(), Event()

    async def work(outcome: int) -> int:
        begun.set()
        await go_on.wait(30)
        return 10 // outcome

    beside = BackgroundTask(work, 5)
    assert await begun.wait(30)
    go_on.set()
    assert await beside.outcome() == 2
    failing = BackgroundTask(work, 0)
    with pytest.raises(ZeroDivisionError):
        await failing.outcome()
    unasked = BackgroundTask(work, 0)
    await unasked.end()
