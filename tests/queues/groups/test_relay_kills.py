"""A relay, or a producer, dies at every call that it sends: before it, and before its reply."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from typing import Any

import pytest

from conftest import Site
from holdfast import GROUP_ID, RESULT, AsyncGroupHandle, AsyncHoldfast, chain, group
from holdfast.core._async.caller import AsyncCaller
from holdfast.core.concurrency._async.primitives import Event
from holdfast.core.names import Namespace, Unit
from holdfast.queues import keys
from holdfast.queues._async.producer import AsyncProducer
from holdfast.queues.groups._async.group_delivery import AsyncGroupDelivery
from holdfast.queues.groups._async.group_producer import AsyncGroupProducer
from holdfast.queues.groups._async.group_store import AsyncGroupStore
from holdfast.queues.groups.members import Group
from holdfast.queues.groups.status import GroupOptions
from holdfast.queues.worker.group_relay import GroupRelay
from queues.groups.group_tasks import OTHER, QUEUE, alarm, broken, calls, double, of, report, tasks

OPTIONS = GroupOptions(60_000, 3_600_000, "g")
MOST_CALLS = 60
WHEN = (
    pytest.param(False, id="before", marks=pytest.mark.long),
    pytest.param(True, id="after"),
)
"""Whether the call at which a process dies arrives."""


class Killed(BaseException):
    """The process is killed here."""


class MortalCaller:
    """Sends calls until the process dies.

    Args:
        caller: sends them.
        left: how many calls are sent and answered.
        is_sent: whether the next one arrives; its reply does not.
    """

    def __init__(self, caller: AsyncCaller, left: int, *, is_sent: bool) -> None:
        self._caller = caller
        self._left = left
        self._is_sent = is_sent

    def __getattr__(self, name: str) -> Any:
        value = getattr(self._caller, name)
        if name not in ("call", "call_many", "read"):
            return value

        async def mortal(*args: Any, **options: Any) -> Any:
            self._left -= 1
            if self._left < 0:
                if self._left == -1 and self._is_sent:
                    await value(*args, **options)
                raise Killed
            return await value(*args, **options)

        return mortal


class InterruptedCaller:
    """Sends calls, and does something else before one of them.

    Args:
        caller: sends them.
        left: how many calls are sent before that.
        interrupt: what is done.

    Attributes:
        result: what *interrupt* has returned; None: not yet.
    """

    def __init__(
        self, caller: AsyncCaller, left: int, interrupt: Callable[[], Awaitable[bool]]
    ) -> None:
        self.result: bool | None = None
        self._caller = caller
        self._left = left
        self._interrupt = interrupt

    def __getattr__(self, name: str) -> Any:
        value = getattr(self._caller, name)
        if name not in ("call", "call_many", "read"):
            return value

        async def interrupted(*args: Any, **options: Any) -> Any:
            self._left -= 1
            if self._left == -1:
                self.result = await self._interrupt()
            return await value(*args, **options)

        return interrupted


@pytest.fixture
async def hf(site: Site) -> AsyncIterator[AsyncHoldfast]:
    calls.clear()
    broken.clear()
    async with AsyncHoldfast.from_url(site.url, namespace=site.namespace) as hf:
        yield hf


def delivery(hf: AsyncHoldfast, caller: Any) -> AsyncGroupDelivery:
    """Return what counts ends through *caller*."""
    parts = hf._resources
    producer = AsyncProducer(caller, parts.notifier, parts.catalog, parts.namespace)
    store = AsyncGroupStore(caller, producer, parts.namespace)
    return AsyncGroupDelivery(store, caller, parts.catalog, parts.namespace)


def unit_of(site: Site, queue: str) -> Unit:
    return Namespace.of(site.namespace).unit(keys.KIND, queue)


async def drain(hf: AsyncHoldfast, site: Site, caller: Any) -> None:
    """Relay all ends through *caller*, as a new worker would; the hold of a dead one has ended."""
    for queue in (QUEUE, OTHER):
        unit = unit_of(site, queue)
        site.client.delete(keys.relay(unit))
        relay = GroupRelay(caller, delivery(hf, caller), unit, Event(), lambda: None)
        await relay._drain()


async def work(hf: AsyncHoldfast) -> None:
    await hf.worker(tasks, queues={QUEUE: 1, OTHER: 1}).run(until_idle=True)


async def enqueue(hf: AsyncHoldfast, caller: Any, members: Any) -> AsyncGroupHandle[Any]:
    producer = AsyncGroupProducer(caller, hf._resources.notifier, delivery(hf, caller))
    return await producer.enqueue(members, OPTIONS, op_id=None)


def note_ends(site: Site, *ends: str) -> None:
    """Store ends as the scripts of a queue do."""
    site.client.rpush(keys.member_ends(unit_of(site, QUEUE)), *ends)


def forget(site: Site) -> None:
    """Remove the groups, and what is known of operations."""
    for key in list(site.client.scan_iter(f"{site.namespace}:*")):
        if b"{group:" in key or b":called:" in key or b":ledger:" in key:
            site.client.delete(key)


def mostly_long(short: str, cases: Iterable[str]) -> list[Any]:
    """Return *cases* as parameters; all but *short* are left out of `make test`."""
    return [pytest.param(each, marks=[] if each == short else pytest.mark.long) for each in cases]


ENDS = {
    "then": (
        group([double.call(1), double.call(2)], then=report.call(RESULT)),
        ["g 0 30 done =2", "g 1 30 done =4"],
        {"report": [[2, 4]], "alarm": []},
    ),
    "failure": (
        group([double.call(1), double.call(2)], on_failure=alarm.call(GROUP_ID)),
        ["g 0 30 done =2", "g 1 30 dead because"],
        {"report": [], "alarm": ["g"]},
    ),
    "nested": (
        group(
            [group([double.call(1)]), chain(double.call(2))],
            then=group([report.call(RESULT)], then=report.call(RESULT)),
        ),
        ["g/0 0 30 done =2", "g/1 0 30 done =4"],
        {"report": [[[2], 4], [[[2], 4]]], "alarm": []},
    ),
    "chain": (
        chain(double.call(1), group([report.call(RESULT)])),
        ["g 0 30 done =2"],
        {"report": [2], "alarm": []},
    ),
}


@pytest.mark.parametrize("is_sent", WHEN)
@pytest.mark.parametrize("case", mostly_long("nested", ENDS))
async def test_a_relay_may_die_at_every_call(
    hf: AsyncHoldfast, site: Site, case: str, *, is_sent: bool
) -> None:
    """The callback may even have run, and be forgotten, before another relay continues."""
    members, ends, expected = ENDS[case]
    for left in range(MOST_CALLS):
        calls.clear()
        await enqueue(hf, hf._resources.caller, members)
        await hf.queue(QUEUE).purge()
        site.client.delete(keys.member_ends(unit_of(site, QUEUE)))
        note_ends(site, *ends)
        try:
            await drain(hf, site, MortalCaller(hf._resources.caller, left, is_sent=is_sent))
        except Killed:
            died = True
        else:
            died = False
        await hf.worker(tasks, queues={OTHER: 1}).run(until_idle=True)
        note_ends(site, *ends)  # a late copy
        await drain(hf, site, hf._resources.caller)
        await work(hf)
        assert {name: of(name) for name in expected} == expected, (left, calls)
        assert site.client.llen(keys.member_ends(unit_of(site, QUEUE))) == 0
        forget(site)
        if not died:
            return
    raise AssertionError("it sends more calls than this test allows")


PRODUCED: dict[str, Group] = {
    "queues": group([double.call(1), report.call(5), double.call(2)], then=report.call(RESULT)),
    "nested": group(
        [group([double.call(1), double.call(2)]), chain(double.call(3), double)],
        then=report.call(RESULT),
    ),
}
RESULTS = {"queues": [5, [2, 5, 4]], "nested": [[[2, 4], 12]]}


@pytest.mark.parametrize(
    "ends_first", [pytest.param(False, marks=pytest.mark.long), True], ids=["waiting", "ended"]
)
@pytest.mark.parametrize("is_sent", WHEN)
@pytest.mark.parametrize("case", mostly_long("nested", PRODUCED))
async def test_a_producer_may_die_at_every_call(
    hf: AsyncHoldfast, site: Site, case: str, *, is_sent: bool, ends_first: bool
) -> None:
    """Its repetition enqueues what is missing, also hours later, when members have ended."""
    for left in range(MOST_CALLS):
        calls.clear()
        caller = MortalCaller(hf._resources.caller, left, is_sent=is_sent)
        try:
            await enqueue(hf, caller, PRODUCED[case])
        except Killed:
            died = True
        else:
            died = False
        if ends_first:
            await work(hf)
            for key in list(site.client.scan_iter(f"{site.namespace}:*:ledger:*")):
                site.client.delete(key)
            for key in list(site.client.scan_iter(f"{site.namespace}:*:group")):
                site.client.hset(key, "created_ms", 0)  # two hours later
        handle = await enqueue(hf, hf._resources.caller, PRODUCED[case])
        await work(hf)
        assert sorted(map(str, of("report"))) == sorted(map(str, RESULTS[case])), (left, calls)
        ran = [argument for name, argument in calls if name == "double"]
        assert len(ran) == len(set(ran)), (left, calls)
        assert (await handle.status()).state == "done"
        forget(site)
        if not died:
            return
        await asyncio.sleep(0)
    raise AssertionError("it sends more calls than this test allows")


@pytest.mark.parametrize("case", PRODUCED)
async def test_a_group_may_be_cancelled_at_every_call_of_its_producer(
    hf: AsyncHoldfast, site: Site, case: str
) -> None:
    """Members that the producer enqueues after that are cancelled too."""
    for left in range(MOST_CALLS):
        calls.clear()
        handle = hf.group_handle("g")
        caller = InterruptedCaller(hf._resources.caller, left, handle.cancel)
        await enqueue(hf, caller, PRODUCED[case])
        await work(hf)
        if caller.result:
            assert (await handle.status()).state == "cancelled"
            assert calls == [], left
        else:
            assert of("report"), left
        forget(site)
        if caller.result is None:
            return
    raise AssertionError("it sends more calls than this test allows")


async def test_what_is_missing_of_a_cancelled_group_stays_so(hf: AsyncHoldfast) -> None:
    """The producer died, and its repetition comes after the group was cancelled."""
    for left in range(MOST_CALLS):
        caller = MortalCaller(hf._resources.caller, left, is_sent=True)
        with pytest.raises(Killed):
            await enqueue(hf, caller, PRODUCED["queues"])
        if await hf.queue(QUEUE).tasks("queued"):
            break
    handle = hf.group_handle("g")
    assert await handle.cancel()
    await enqueue(hf, hf._resources.caller, PRODUCED["queues"])
    assert not (await handle.status()).complete
    await work(hf)
    assert calls == []


@pytest.mark.parametrize("case", ENDS)
async def test_a_group_may_be_cancelled_at_every_call_of_a_relay(
    hf: AsyncHoldfast, site: Site, case: str
) -> None:
    """What is enqueued at that moment does not run."""
    members, ends, expected = ENDS[case]
    handle = hf.group_handle("g")

    async def cancel() -> bool:
        was_called = (await handle.status()).on_failure == "called"
        return not was_called and await handle.cancel()

    for left in range(MOST_CALLS):
        calls.clear()
        await enqueue(hf, hf._resources.caller, members)
        await hf.queue(QUEUE).purge()
        site.client.delete(keys.member_ends(unit_of(site, QUEUE)))
        note_ends(site, *ends)
        caller = InterruptedCaller(hf._resources.caller, left, cancel)
        await drain(hf, site, caller)
        await work(hf)
        called = {name: [] if caller.result else expected[name] for name in expected}
        assert {name: of(name) for name in expected} == called, (left, calls)
        forget(site)
        if caller.result is None:
            return
    raise AssertionError("it sends more calls than this test allows")
