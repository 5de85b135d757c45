"""What a revocation cancels, and what it leaves to others."""

import asyncio
import threading

import pytest

from holdfast.core.runtime._async import Event, Revocation


async def interrupted() -> asyncio.CancelledError:
    """Wait to be cancelled."""
    try:
        await Event().wait(30)
    except asyncio.CancelledError as error:
        return error
    pytest.fail("nobody cancelled it")


def cancelling() -> int:
    """How many want this task to end."""
    task = asyncio.current_task()
    assert task is not None
    return task.cancelling()


async def test_what_is_revoked_is_cancelled() -> None:
    revocation = Revocation()
    threads = [threading.Thread(target=revocation.revoke) for _ in range(2)]
    for thread in threads:
        thread.start()
    error = await interrupted()
    for thread in threads:
        thread.join()
    assert revocation.end(error)
    assert cancelling() == 0


async def test_who_is_cancelled_by_somebody_else_as_well_ends() -> None:
    revocation, task = Revocation(), asyncio.current_task()
    assert task is not None
    revocation.revoke()
    task.cancel()
    error = await interrupted()
    assert cancelling() == 2
    assert not revocation.end(error)
    assert cancelling() == 1
    task.uncancel()


async def test_who_ignores_it_is_not_cancelled_any_more() -> None:
    """The body ended well, or by an error of its own."""
    for ending in (None, KeyError()):
        revocation = Revocation()
        revocation.revoke()
        await interrupted()
        assert not revocation.end(ending)
        assert cancelling() == 0


async def test_the_word_that_comes_too_late_cancels_nobody() -> None:
    revocation = Revocation()
    revocation.revoke()
    assert not revocation.end(None)
    await asyncio.sleep(0)
    assert cancelling() == 0


def test_after_its_loop_it_is_harmless() -> None:
    async def made() -> Revocation:
        return Revocation()

    asyncio.run(made()).revoke()


async def test_only_a_task_can_be_cancelled() -> None:
    problems: list[Exception] = []
    done = Event()

    def called() -> None:
        try:
            Revocation()
        except RuntimeError as error:
            problems.append(error)
        done.set()

    asyncio.get_running_loop().call_soon(called)
    assert await done.wait(30)
    assert len(problems) == 1
