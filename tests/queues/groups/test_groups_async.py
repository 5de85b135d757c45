"""Groups and chains: what runs, when their callbacks are called, and with what."""

from collections.abc import AsyncIterator
from datetime import timedelta
from typing import Any

import pytest

from conftest import Site
from faults.waiting import eventually_async
from holdfast import (
    GROUP_ID,
    RESULT,
    AsyncGroupHandle,
    AsyncHoldfast,
    GroupTimeout,
    NoSuchGroup,
    chain,
    group,
)
from holdfast.core.names import Namespace
from holdfast.queues import keys
from holdfast.queues.groups._async.group_delivery import MARK
from queues.groups.group_tasks import (
    OTHER,
    QUEUE,
    add,
    alarm,
    broken,
    calls,
    double,
    note,
    of,
    report,
    tasks,
)
from queues.schedule.scheduled_tasks import running_async


@pytest.fixture
async def hf(site: Site) -> AsyncIterator[AsyncHoldfast]:
    calls.clear()
    broken.clear()
    async with AsyncHoldfast.from_url(site.url, namespace=site.namespace) as hf:
        yield hf


async def reason(handle: AsyncGroupHandle[Any]) -> str:
    """Return why the first member has failed."""
    first, *_ = [member async for member in handle.results()]
    return first.reason


async def work(hf: AsyncHoldfast) -> None:
    """Run everything that there is to do."""
    await hf.worker(tasks, queues={QUEUE: 1, OTHER: 1}).run(until_idle=True)


async def values(handle: AsyncGroupHandle[Any]) -> list[object]:
    """Return the results of the members."""
    return [each.value async for each in handle.results()]


async def test_then_runs_once_after_all_members(hf: AsyncHoldfast) -> None:
    members = [double.call(n) for n in range(100)]
    handle = await hf.enqueue_group(members, then=report.call(RESULT), on_failure=alarm.call(""))
    assert (await handle.status()).waiting == 100
    await work(hf)
    assert of("report") == [[2 * n for n in range(100)]]
    assert of("alarm") == []
    status = await handle.status()
    assert (status.state, status.done, status.waiting, status.then) == ("done", 100, 0, "done")
    assert await values(handle) == [2 * n for n in range(100)]


async def test_a_call_that_is_not_due_stays_stored(hf: AsyncHoldfast) -> None:
    """A server that went back to an older state hears of calls that are due only later."""
    members = await hf.enqueue_group([double.call(1)], then=report.call(RESULT))
    elements = await hf.enqueue_group(chain(double.call(2), double, note.call("end")))
    caller = hf.queue(QUEUE)._caller
    for handle, name in ((members, "then"), (elements, "1"), (elements, "2")):
        unit = Namespace.of(hf.namespace).unit(keys.GROUP, handle.group_id)
        await caller.call(MARK, unit, MARK.keys(unit), [name, 0])
    await work(hf)
    assert of("report") == [[2]]
    assert of("double") == [1, 2, 4]
    assert of("note") == ["end"]


async def test_on_failure_runs_once_and_replays_repair_the_group(hf: AsyncHoldfast) -> None:
    broken.update((3, 5))
    members = [double.call(n) for n in range(8)]
    handle = await hf.enqueue_group(
        members, then=report.call(RESULT), on_failure=alarm.call(GROUP_ID)
    )
    await work(hf)
    assert of("alarm") == [handle.group_id]
    assert of("report") == []
    status = await handle.wait(0)
    assert (status.state, status.done, status.dead) == ("failed", 6, 2)
    found = {each.index: each async for each in handle.results()}
    assert [each.state for each in found.values()].count("dead") == 2
    assert "3 is broken" in found[3].reason

    broken.clear()
    await hf.queue(QUEUE).replay()
    await work(hf)
    assert of("alarm") == [handle.group_id]
    assert of("report") == [[2 * n for n in range(8)]]
    assert (await handle.status()).state == "done"


async def test_some_members_may_fail(hf: AsyncHoldfast) -> None:
    broken.add(1)
    handle = await hf.enqueue_group(
        [double.call(n) for n in range(3)], then=report.call(RESULT), max_failures=1
    )
    await work(hf)
    assert of("report") == [[0, None, 4]]
    assert (await handle.status()).state == "done"


async def test_a_chain_passes_results_on(hf: AsyncHoldfast) -> None:
    steps = chain(double.call(1), double, add.call(RESULT, b=10), note.call("end"))
    handle = await hf.enqueue_group(steps)
    await work(hf)
    assert await values(handle) == [2, 4, 14, "end"]
    assert (await handle.status()).state == "done"


async def test_a_failed_member_ends_a_chain(hf: AsyncHoldfast) -> None:
    broken.add(2)
    handle = await hf.enqueue_group(
        chain(double.call(1), double, double, on_failure=alarm.call(GROUP_ID))
    )
    await work(hf)
    assert of("double") == [1, 2]
    assert of("alarm") == [handle.group_id]
    assert (await handle.status()).state == "failed"
    broken.clear()
    await hf.queue(QUEUE).replay()
    await work(hf)
    assert await values(handle) == [2, 4, 8]


async def test_groups_and_chains_are_nested(hf: AsyncHoldfast) -> None:
    inner = group([double.call(1), double.call(2)], then=report.call(RESULT))
    handle = await hf.enqueue_group(
        [inner, chain(double.call(3), double), group([double.call(7)]), double.call(10)],
        then=chain(
            report.call(RESULT), group([report.call(RESULT), note.call("b")]), report.call(RESULT)
        ),
    )
    await work(hf)
    first = [[2, 4], 12, [14], 20]
    assert of("report") == [[2, 4], first, first, [first, "b"]]
    assert await values(handle) == first
    status = await handle.status()
    assert (status.state, status.then) == ("done", "done")


async def test_a_failure_inside_fails_the_outer_group(hf: AsyncHoldfast) -> None:
    broken.add(1)
    handle = await hf.enqueue_group(
        [group([double.call(1), double.call(2)], on_failure=note.call(GROUP_ID)), double.call(3)],
        then=report.call(RESULT),
        on_failure=note.call("outer"),
    )
    await work(hf)
    assert sorted(of("note")) == sorted([handle.group_id, "outer"])
    assert await reason(handle) == f"group: members of group '{handle.group_id}/0' failed"
    broken.clear()
    await hf.queue(QUEUE).replay()
    await work(hf)
    assert of("report") == [[[2, 4], 6]]
    assert (await handle.status()).state == "done"


async def test_a_dead_callback_inside_fails_the_outer_group(hf: AsyncHoldfast) -> None:
    broken.add(7)
    inner = group([double.call(1)], then=double.call(7))
    handle = await hf.enqueue_group([inner, double.call(3)], on_failure=note.call("outer"))
    await work(hf)
    assert of("note") == ["outer"]
    assert await reason(handle) == f"group: the callback of group '{handle.group_id}/0' failed"


async def test_cancel_removes_members_and_calls_nothing(hf: AsyncHoldfast) -> None:
    inner = chain(double.call(1), double)
    handle = await hf.enqueue_group(
        [inner, *(double.call(n) for n in range(300))],
        then=report.call(RESULT),
        on_failure=alarm.call(""),
    )
    assert await handle.cancel()
    assert await handle.cancel()
    await work(hf)
    assert calls == []
    status = await handle.status()
    assert (status.state, status.cancelled, status.waiting) == ("cancelled", 301, 0)


async def test_what_is_done_is_not_cancelled(hf: AsyncHoldfast) -> None:
    handle = await hf.enqueue_group([double.call(1)], then=note.call("end"))
    await work(hf)
    assert not await handle.cancel()
    assert of("note") == ["end"]


async def test_purged_and_cancelled_members_have_failed(hf: AsyncHoldfast) -> None:
    handle = await hf.enqueue_group(
        [double.call(n) for n in range(4)], on_failure=alarm.call(GROUP_ID), max_failures=1
    )
    await hf.queue(QUEUE).handle(f"{handle.group_id}/2").cancel()
    await work(hf)
    assert (await handle.status()).state == "done"
    other = await hf.enqueue_group([double.call(n) for n in range(4)], on_failure=alarm.call(""))
    await hf.queue(QUEUE).purge()
    await work(hf)
    status = await other.status()
    assert (status.state, status.cancelled, status.on_failure) == ("failed", 4, "done")
    assert of("alarm") == [""]


async def test_the_same_id_enqueues_once(hf: AsyncHoldfast) -> None:
    members = [double.call(n) for n in range(3)]
    first = await hf.enqueue_group(members, then=note.call(), group_id="nightly:1")
    again = await hf.enqueue_group(members, then=note.call(), group_id="nightly:1")
    assert (first.is_new, again.is_new) == (True, False)
    await work(hf)
    again = await hf.enqueue_group(members, then=note.call(), group_id="nightly:1")
    await work(hf)
    assert len(of("double")) == 3
    assert len(of("note")) == 1


async def test_wait_ends_with_the_group(hf: AsyncHoldfast) -> None:
    handle = await hf.enqueue_group([double.call(1)])
    with pytest.raises(GroupTimeout, match="1 members remain"):
        await handle.wait(0)
    async with running_async(hf.worker(tasks)):
        assert (await handle.wait(20)).state == "done"
    with pytest.raises(NoSuchGroup):
        await hf.group_handle("none").status()


async def test_groups_are_listed(hf: AsyncHoldfast) -> None:
    first = await hf.enqueue_group([double.call(1), group([double.call(2)])])
    second = await hf.enqueue_group(chain(double.call(3)))
    found = await hf.groups()
    assert [each.group_id for each in found] == [second.group_id, first.group_id]
    assert found[0].kind == "chain"


async def test_a_group_expires(hf: AsyncHoldfast) -> None:
    """Its members run, and no callback is enqueued."""
    handle = await hf.enqueue_group([double.call(1)], then=note.call("end"), lifetime=0.2)
    await eventually_async(lambda: gone(handle))
    await work(hf)
    assert calls == [("double", 1)]
    assert await hf.groups() == []
    assert (await hf.audit()).damages == ()


async def test_a_group_is_kept_for_a_while_after_its_end(hf: AsyncHoldfast) -> None:
    handle = await hf.enqueue_group([double.call(1)], result_ttl=0.2)
    lasting = await hf.enqueue_group([double.call(1)], result_ttl=60.0, lifetime=3600.0)
    begun = await lasting.status()
    await work(hf)
    ended = await lasting.status()
    assert ended.ended_at is not None
    assert ended.expires_at < ended.ended_at + timedelta(seconds=600) < begun.expires_at
    await eventually_async(lambda: gone(handle))


async def test_a_member_that_expires_has_failed(hf: AsyncHoldfast) -> None:
    members = [double.call(1), double.call(2).options(expires=0.001)]
    handle = await hf.enqueue_group(members, then=note.call("end"), on_failure=alarm.call(GROUP_ID))
    await work(hf)
    assert (of("alarm"), of("note")) == ([handle.group_id], [])
    _, expired = [each async for each in handle.results()]
    assert (expired.state, expired.reason.partition(":")[0]) == ("dead", "expired")


async def gone(handle: AsyncGroupHandle) -> bool:
    """Return whether the server has forgotten a group."""
    try:
        await handle.status()
    except NoSuchGroup:
        return True
    return False
