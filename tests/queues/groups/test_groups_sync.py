# Generated from test_groups_async.py by tools/unasync.py: edit that, then run `make sync`.
"""Groups and chains: what runs, when their callbacks are called, and with what."""

from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest

from conftest import Site
from faults.waiting import eventually
from holdfast import (
    GROUP_ID,
    RESULT,
    GroupHandle,
    GroupTimeout,
    Holdfast,
    NoSuchGroup,
    chain,
    group,
)
from holdfast.core.names import Namespace
from holdfast.queues import keys
from holdfast.queues.groups._sync.group_delivery import MARK
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
from queues.schedule.scheduled_tasks import running


@pytest.fixture
def hf(site: Site) -> Iterator[Holdfast]:
    calls.clear()
    broken.clear()
    with Holdfast.from_url(site.url, namespace=site.namespace) as hf:
        yield hf


def reason(handle: GroupHandle[Any]) -> str:
    """Return why the first member has failed."""
    first, *_ = [member for member in handle.results()]
    return first.reason


def work(hf: Holdfast) -> None:
    """Run everything that there is to do."""
    hf.worker(tasks, queues={QUEUE: 1, OTHER: 1}).run(until_idle=True)


def values(handle: GroupHandle[Any]) -> list[object]:
    """Return the results of the members."""
    return [each.value for each in handle.results()]


def test_then_runs_once_after_all_members(hf: Holdfast) -> None:
    members = [double.call(n) for n in range(100)]
    handle = hf.enqueue_group(members, then=report.call(RESULT), on_failure=alarm.call(""))
    assert (handle.status()).waiting == 100
    work(hf)
    assert of("report") == [[2 * n for n in range(100)]]
    assert of("alarm") == []
    status = handle.status()
    assert (status.state, status.done, status.waiting, status.then) == ("done", 100, 0, "done")
    assert values(handle) == [2 * n for n in range(100)]


def test_a_call_that_is_not_due_stays_stored(hf: Holdfast) -> None:
    """A server that went back to an older state hears of calls that are due only later."""
    members = hf.enqueue_group([double.call(1)], then=report.call(RESULT))
    elements = hf.enqueue_group(chain(double.call(2), double, note.call("end")))
    caller = hf.queue(QUEUE)._caller
    for handle, name in ((members, "then"), (elements, "1"), (elements, "2")):
        unit = Namespace.of(hf.namespace).unit(keys.GROUP, handle.group_id)
        caller.call(MARK, unit, MARK.keys(unit), [name, 0])
    work(hf)
    assert of("report") == [[2]]
    assert of("double") == [1, 2, 4]
    assert of("note") == ["end"]


def test_on_failure_runs_once_and_replays_repair_the_group(hf: Holdfast) -> None:
    broken.update((3, 5))
    members = [double.call(n) for n in range(8)]
    handle = hf.enqueue_group(members, then=report.call(RESULT), on_failure=alarm.call(GROUP_ID))
    work(hf)
    assert of("alarm") == [handle.group_id]
    assert of("report") == []
    status = handle.wait(0)
    assert (status.state, status.done, status.dead) == ("failed", 6, 2)
    found = {each.index: each for each in handle.results()}
    assert [each.state for each in found.values()].count("dead") == 2
    assert "3 is broken" in found[3].reason

    broken.clear()
    hf.queue(QUEUE).replay()
    work(hf)
    assert of("alarm") == [handle.group_id]
    assert of("report") == [[2 * n for n in range(8)]]
    assert (handle.status()).state == "done"


def test_some_members_may_fail(hf: Holdfast) -> None:
    broken.add(1)
    handle = hf.enqueue_group(
        [double.call(n) for n in range(3)], then=report.call(RESULT), max_failures=1
    )
    work(hf)
    assert of("report") == [[0, None, 4]]
    assert (handle.status()).state == "done"


def test_a_chain_passes_results_on(hf: Holdfast) -> None:
    steps = chain(double.call(1), double, add.call(RESULT, b=10), note.call("end"))
    handle = hf.enqueue_group(steps)
    work(hf)
    assert values(handle) == [2, 4, 14, "end"]
    assert (handle.status()).state == "done"


def test_a_failed_member_ends_a_chain(hf: Holdfast) -> None:
    broken.add(2)
    handle = hf.enqueue_group(
        chain(double.call(1), double, double, on_failure=alarm.call(GROUP_ID))
    )
    work(hf)
    assert of("double") == [1, 2]
    assert of("alarm") == [handle.group_id]
    assert (handle.status()).state == "failed"
    broken.clear()
    hf.queue(QUEUE).replay()
    work(hf)
    assert values(handle) == [2, 4, 8]


def test_groups_and_chains_are_nested(hf: Holdfast) -> None:
    inner = group([double.call(1), double.call(2)], then=report.call(RESULT))
    handle = hf.enqueue_group(
        [inner, chain(double.call(3), double), group([double.call(7)]), double.call(10)],
        then=chain(
            report.call(RESULT), group([report.call(RESULT), note.call("b")]), report.call(RESULT)
        ),
    )
    work(hf)
    first = [[2, 4], 12, [14], 20]
    assert of("report") == [[2, 4], first, first, [first, "b"]]
    assert values(handle) == first
    status = handle.status()
    assert (status.state, status.then) == ("done", "done")


def test_a_failure_inside_fails_the_outer_group(hf: Holdfast) -> None:
    broken.add(1)
    handle = hf.enqueue_group(
        [group([double.call(1), double.call(2)], on_failure=note.call(GROUP_ID)), double.call(3)],
        then=report.call(RESULT),
        on_failure=note.call("outer"),
    )
    work(hf)
    assert sorted(of("note")) == sorted([handle.group_id, "outer"])
    assert reason(handle) == f"group: members of group '{handle.group_id}/0' failed"
    broken.clear()
    hf.queue(QUEUE).replay()
    work(hf)
    assert of("report") == [[[2, 4], 6]]
    assert (handle.status()).state == "done"


def test_a_dead_callback_inside_fails_the_outer_group(hf: Holdfast) -> None:
    broken.add(7)
    inner = group([double.call(1)], then=double.call(7))
    handle = hf.enqueue_group([inner, double.call(3)], on_failure=note.call("outer"))
    work(hf)
    assert of("note") == ["outer"]
    assert reason(handle) == f"group: the callback of group '{handle.group_id}/0' failed"


def test_cancel_removes_members_and_calls_nothing(hf: Holdfast) -> None:
    inner = chain(double.call(1), double)
    handle = hf.enqueue_group(
        [inner, *(double.call(n) for n in range(300))],
        then=report.call(RESULT),
        on_failure=alarm.call(""),
    )
    assert handle.cancel()
    assert handle.cancel()
    work(hf)
    assert calls == []
    status = handle.status()
    assert (status.state, status.cancelled, status.waiting) == ("cancelled", 301, 0)


def test_what_is_done_is_not_cancelled(hf: Holdfast) -> None:
    handle = hf.enqueue_group([double.call(1)], then=note.call("end"))
    work(hf)
    assert not handle.cancel()
    assert of("note") == ["end"]


def test_purged_and_cancelled_members_have_failed(hf: Holdfast) -> None:
    handle = hf.enqueue_group(
        [double.call(n) for n in range(4)], on_failure=alarm.call(GROUP_ID), max_failures=1
    )
    hf.queue(QUEUE).handle(f"{handle.group_id}/2").cancel()
    work(hf)
    assert (handle.status()).state == "done"
    other = hf.enqueue_group([double.call(n) for n in range(4)], on_failure=alarm.call(""))
    hf.queue(QUEUE).purge()
    work(hf)
    status = other.status()
    assert (status.state, status.cancelled, status.on_failure) == ("failed", 4, "done")
    assert of("alarm") == [""]


def test_the_same_id_enqueues_once(hf: Holdfast) -> None:
    members = [double.call(n) for n in range(3)]
    first = hf.enqueue_group(members, then=note.call(), group_id="nightly:1")
    again = hf.enqueue_group(members, then=note.call(), group_id="nightly:1")
    assert (first.is_new, again.is_new) == (True, False)
    work(hf)
    again = hf.enqueue_group(members, then=note.call(), group_id="nightly:1")
    work(hf)
    assert len(of("double")) == 3
    assert len(of("note")) == 1


def test_wait_ends_with_the_group(hf: Holdfast) -> None:
    handle = hf.enqueue_group([double.call(1)])
    with pytest.raises(GroupTimeout, match="1 members remain"):
        handle.wait(0)
    with running(hf.worker(tasks)):
        assert (handle.wait(20)).state == "done"
    with pytest.raises(NoSuchGroup):
        hf.group_handle("none").status()


def test_groups_are_listed(hf: Holdfast) -> None:
    first = hf.enqueue_group([double.call(1), group([double.call(2)])])
    second = hf.enqueue_group(chain(double.call(3)))
    found = hf.groups()
    assert [each.group_id for each in found] == [second.group_id, first.group_id]
    assert found[0].kind == "chain"


def test_a_group_expires(hf: Holdfast) -> None:
    """Its members run, and no callback is enqueued."""
    handle = hf.enqueue_group([double.call(1)], then=note.call("end"), lifetime=0.2)
    eventually(lambda: gone(handle))
    work(hf)
    assert calls == [("double", 1)]
    assert hf.groups() == []
    assert (hf.audit()).damages == ()


def test_a_group_is_kept_for_a_while_after_its_end(hf: Holdfast) -> None:
    handle = hf.enqueue_group([double.call(1)], result_ttl=0.2)
    lasting = hf.enqueue_group([double.call(1)], result_ttl=60.0, lifetime=3600.0)
    begun = lasting.status()
    work(hf)
    ended = lasting.status()
    assert ended.ended_at is not None
    assert ended.expires_at < ended.ended_at + timedelta(seconds=600) < begun.expires_at
    eventually(lambda: gone(handle))


def test_a_member_that_expires_has_failed(hf: Holdfast) -> None:
    members = [double.call(1), double.call(2).options(expires=0.001)]
    handle = hf.enqueue_group(members, then=note.call("end"), on_failure=alarm.call(GROUP_ID))
    work(hf)
    assert (of("alarm"), of("note")) == ([handle.group_id], [])
    _, expired = [each for each in handle.results()]
    assert (expired.state, expired.reason.partition(":")[0]) == ("dead", "expired")


def gone(handle: GroupHandle) -> bool:
    """Return whether the server has forgotten a group."""
    try:
        handle.status()
    except NoSuchGroup:
        return True
    return False
