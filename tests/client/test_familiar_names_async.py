"""Words of Celery and redis-py get an error that says what they are called here."""

import copy
from typing import Any

import pytest

from holdfast import AsyncHoldfast, TaskRegistry

tasks = TaskRegistry()


@tasks.task(queue="q")
def nothing() -> None:
    """Do nothing."""


@pytest.mark.parametrize("name", ["delay", "apply_async", "send", "kiq"])
def test_a_task_is_enqueued_by_the_client(name: str) -> None:
    task: Any = nothing
    with pytest.raises(AttributeError, match=rf"no attribute '{name}': .*hf\.enqueue\(task\.call"):
        getattr(task, name)()
    assert not hasattr(task, "other")
    assert copy.copy(task).call().task == "nothing"


async def test_a_handle_has_a_result(hf: AsyncHoldfast) -> None:
    handle: Any = await hf.enqueue(nothing.call())
    with pytest.raises(AttributeError, match=r"no attribute 'get': result\(timeout=…\) waits"):
        handle.get(timeout=1)


def test_the_timeout_of_a_lock_is_its_lease(hf: Any) -> None:
    for make in (
        lambda: hf.lock("x", timeout=5),
        lambda: hf.semaphore("x", timeout=5),
        lambda: hf.lock_all(["x"], timeout=5),
    ):
        with pytest.raises(
            TypeError, match=r"has no option 'timeout': lease=… .* hold\(timeout=…\)"
        ):
            make()
    with pytest.raises(TypeError, match=r"^lock\(\) has no option 'colour'$"):
        hf.lock("x", colour="red")


async def test_a_lock_is_no_context(hf: AsyncHoldfast) -> None:
    async def hold(lock: Any) -> None:
        async with lock:
            raise AssertionError("it is held")

    for lock in (hf.lock("x"), hf.semaphore("x", limit=1), hf.lock_all(["x"])):
        with pytest.raises(TypeError, match=r"is not a context: write `(async )?with lock\.hold\("):
            await hold(lock)


def test_the_methods_of_other_locks(hf: Any) -> None:
    with pytest.raises(AttributeError, match=r"'release': only its holder releases it"):
        hf.lock("x").release()
    with pytest.raises(TypeError, match=r"hold\(\) returns the leases by name"):
        list(hf.lock_all(["x", "y"]))
