"""Groups that are refused leave nothing behind; and calls of several registries in one group."""

from collections.abc import AsyncIterator
from typing import Any

import pytest

from conftest import Site
from holdfast import (
    GROUP_ID,
    RESULT,
    AsyncHoldfast,
    InvalidName,
    PayloadTooLarge,
    TaskRegistry,
    Unique,
    chain,
    group,
)
from queues.groups.group_tasks import OTHER, QUEUE, broken, calls, double, note, of, report, tasks

other_tasks = TaskRegistry()
"""The tasks of another part of the application, which has workers of its own."""


@other_tasks.task(queue=QUEUE, name="double")
def double_text(text: str) -> str:
    raise AssertionError("no worker may run it")


@other_tasks.task(queue=QUEUE)
def triple(n: int) -> int:
    calls.append(("triple", n))
    return 3 * n


@pytest.fixture
async def hf(site: Site) -> AsyncIterator[AsyncHoldfast]:
    calls.clear()
    broken.clear()
    async with AsyncHoldfast.from_url(site.url, namespace=site.namespace) as hf:
        yield hf


async def stored(hf: AsyncHoldfast) -> list[str]:
    """Return the groups and queues that exist."""
    groups = [each.group_id for each in await hf.groups()]
    return groups + [each.name for each in await hf.queues()]


async def test_a_refused_group_leaves_nothing(hf: AsyncHoldfast) -> None:
    """Each refusal names what is wrong and what to write, before anything is sent."""
    unique = double.call(1).options(unique=Unique(key=("n",)))
    handle = hf.queue(QUEUE).handle("a-handle")
    for members, error, text in (
        ([double.call(1), unique], ValueError, r"write \.options\(unique=False\)"),
        ([double.call(1).options(task_id="mine")], ValueError, "give a group_id instead"),
        ([double], TypeError, r"expected a call such as double\.call"),
        ([double.call(1), handle], TypeError, "expected a call such as .*, got .*TaskHandle"),
        (double.call(1), TypeError, "give a list of calls"),
        (double, TypeError, "give a list of calls"),
        ([double.call(object())], TypeError, "double"),
        ([double.call("x" * (2 << 20))], PayloadTooLarge, "1,048,576"),
    ):
        with pytest.raises(error, match=text):
            await hf.enqueue_group(members, then=note.call("end"))  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=r"give these options to chain\(…\)"):
        await hf.enqueue_group(chain(double.call(1)), then=note.call("end"))
    with pytest.raises(ValueError, match="max_failures"):
        await hf.enqueue_group([double.call(1)], max_failures=-1)
    with pytest.raises(InvalidName, match="group_id"):
        await hf.enqueue_group([double.call(1)], group_id="a/b")
    assert await stored(hf) == []


async def test_an_empty_group_is_refused(hf: AsyncHoldfast) -> None:
    none: list[Any] = []
    then = report.call(RESULT)
    with pytest.raises(ValueError, match="group 'nightly:1' needs at least one member, and got no"):
        await hf.enqueue_group(none, then=then, group_id="nightly:1")
    with pytest.raises(ValueError, match=r"a group needs .* enqueue what follows .* instead"):
        await hf.enqueue_group((call for call in none), then=then)
    with pytest.raises(ValueError, match="a group needs at least one member"):
        await hf.enqueue_group([double.call(1), group(none)], then=then)
    with pytest.raises(ValueError, match="a group needs at least one member"):
        await hf.enqueue_group([double.call(1)], then=group(none))
    with pytest.raises(ValueError, match="a chain needs at least one member"):
        await hf.enqueue_group([double.call(1)], on_failure=chain(*none))
    assert await stored(hf) == []


@pytest.mark.parametrize(
    "members",
    [
        group([double.call(1), double_text.call("a")]),
        group([double.call(1)], then=double_text.call("a")),
        group([double.call(1)], on_failure=double_text.call("a")),
        group([chain(note.call(), double), group([note.call()], then=double_text.call("a"))]),
        group([triple.call(1).options(queue=OTHER), double.call(1)], then=double_text.call("a")),
        chain(double.call(1), double_text),
        chain(double.call(1), on_failure=double_text.call("a")),
        chain(double.call(1), group([double_text.call(RESULT)])),
    ],
)
async def test_a_name_of_two_functions_is_refused(hf: AsyncHoldfast, members: Any) -> None:
    """A worker of one registry would run its function for the call of the other one."""
    text = r"task 'double' of queue 'parts' is .*\.double in one call and .*\.double_text in ano"
    with pytest.raises(ValueError, match=text):
        await hf.enqueue_group(members)
    assert await stored(hf) == []


async def test_calls_of_several_registries_may_be_in_a_group(hf: AsyncHoldfast) -> None:
    """Each is run by a worker that knows it; the same name in another queue is another task."""
    elsewhere = double_text.call("a").options(queue="texts")
    steps = chain(double.call(1), triple, group([triple.call(RESULT), elsewhere]))
    handle = await hf.enqueue_group(steps)
    copy = tasks.with_lifespan(None)
    assert await hf.enqueue_group([double.call(1), copy.get("double").call(2)])
    await hf.worker(tasks).run(until_idle=True)
    await hf.worker(other_tasks, queues={QUEUE: 1}).run(until_idle=True)
    assert sorted(of("triple")) == [2, 6]
    assert (await hf.queue("texts").stats()).ready == 1
    assert (await handle.status()).done == 2


async def test_an_element_that_no_worker_knows_is_kept(hf: AsyncHoldfast) -> None:
    """It is dead with a reason, and the chain goes on once a worker knows it."""
    handle = await hf.enqueue_group(chain(double.call(1), triple, note.call("end")))
    await hf.worker(tasks, unknown_timeout=0).run(until_idle=True)
    assert (await handle.status()).state == "failed"
    _, unknown, _ = [each async for each in handle.results()]
    assert unknown.state == "dead"
    assert "unknown-task: no task named 'triple' is registered here" in unknown.reason
    await hf.queue(QUEUE).replay()
    await hf.worker(other_tasks, queues={QUEUE: 1}).run(until_idle=True)
    await hf.worker(tasks).run(until_idle=True)
    assert [each.value async for each in handle.results()] == [2, 6, "end"]


async def test_a_result_needs_something_before_it(hf: AsyncHoldfast) -> None:
    for members in (
        group([double.call(RESULT)]),
        group([double.call(1), chain(double.call(RESULT))], then=report.call(RESULT)),
        chain(double.call(RESULT), double),
        chain(group([double.call(1), double.call(n=RESULT)]), double),
    ):
        with pytest.raises(ValueError, match="nothing runs before the first members of group 'g'"):
            await hf.enqueue_group(members, group_id="g")
    assert await stored(hf) == []
    with pytest.raises(TypeError, match="must be whole arguments of calls in a group"):
        await hf.enqueue(report.call(RESULT))
    with pytest.raises(TypeError, match="cannot be within a list"):
        await hf.enqueue_group([double.call(1)], then=report.call([GROUP_ID]))
    assert await stored(hf) == []
    handle = await hf.enqueue_group([note.call(GROUP_ID)], group_id="g")
    assert (await handle.status()).total == 1
