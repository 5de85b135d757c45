"""The history of a queue has its last tasks that ended, each with its outcome."""

from collections.abc import AsyncIterator
from datetime import UTC, datetime

import pytest

from conftest import Site
from holdfast import AsyncHoldfast, Call, EndedTask, TaskRegistry
from queues.history_tasks import add, fail, fail_again, nap, tasks, unkept


@pytest.fixture
async def hf(site: Site) -> AsyncIterator[AsyncHoldfast]:
    async with AsyncHoldfast.from_url(site.url, namespace=site.namespace) as hf:
        yield hf


async def run(hf: AsyncHoldfast, *calls: Call) -> list[EndedTask]:
    """Run *calls* and return the history, the first that ended first."""
    await hf.enqueue_many(calls)
    await hf.worker(tasks, concurrency=1).run(until_idle=True)
    return (await hf.queue("ended").history())[::-1]


async def test_every_end_is_noted_once(hf: AsyncHoldfast) -> None:
    found = await run(hf, add.call(1), fail.call("no"), unkept.call(), fail_again.call())
    ends = [(each.task, each.state, each.outcome, each.attempts, each.reason) for each in found]
    assert ends == [
        ("add", "done", "done", 1, ""),
        ("fail", "dead", "failed", 1, "failed: ValueError: no"),
        ("ein Name: mit Ümlaut", "done", "done", 1, ""),
        ("fail_again", "dead", "failed", 3, "failed: OSError: again"),
    ]


async def test_an_end_says_when_and_for_how_long(hf: AsyncHoldfast) -> None:
    handle = await hf.enqueue(nap.call())
    worker = hf.worker(tasks)
    await worker.run(until_idle=True)
    [ended] = await hf.queue("ended").history()
    assert (ended.task_id, ended.worker, ended.crashes) == (handle.task_id, worker.name, 0)
    assert 0.2 <= ended.duration < 60
    assert abs((datetime.now(UTC) - ended.ended_at).total_seconds()) < 60


async def test_a_cancelled_task_is_noted(hf: AsyncHoldfast) -> None:
    waiting = await hf.enqueue(add.call(1))
    assert await waiting.cancel()
    assert not await waiting.cancel()
    [cancelled] = await hf.queue("ended").history()
    assert (cancelled.task, cancelled.state, cancelled.outcome) == ("add", "cancelled", "cancelled")
    assert (cancelled.duration, cancelled.worker, cancelled.attempts) == (None, "", 0)


async def test_an_expired_task_is_noted(hf: AsyncHoldfast) -> None:
    [expired] = await run(hf, fail.call("late").options(expires=0.001))
    assert (expired.task, expired.outcome, expired.duration) == ("fail", "expired", None)
    assert expired.reason == "expired: it was not begun in time"


async def test_a_refused_task_is_noted_with_its_name(hf: AsyncHoldfast) -> None:
    other = TaskRegistry()

    @other.task(queue="ended", name="add")
    def more(a: int, b: int, c: int) -> None: ...

    @other.task(queue="ended", name="x" * 300)
    def unheard_of() -> None: ...

    await hf.enqueue_many([more.call(1, 2, 3), unheard_of.call()])
    await hf.worker(tasks, unknown_timeout=0).run(until_idle=True)
    found = {each.outcome: each.task for each in await hf.queue("ended").history()}
    assert found == {"bad-arguments": "add", "unknown-task": "x" * 200}


async def test_the_history_is_searched(hf: AsyncHoldfast) -> None:
    calls = [
        add.call(1).options(task_id="First"),
        fail.call("The disk is full").options(task_id="second"),
        fail.call("50% of it").options(task_id="third"),
        add.call(2).options(task_id="fourth"),
    ]
    await run(hf, *calls)
    queue = hf.queue("ended")

    async def ids(**filters: str) -> list[str]:
        return [each.task_id for each in await queue.history(**filters)]

    assert await ids() == ["fourth", "third", "second", "First"]
    assert await ids(name="add") == ["fourth", "First"]
    assert await ids(name="ad") == []
    assert await ids(outcome="dead") == await ids(outcome="failed") == ["third", "second"]
    assert await ids(outcome="done") == ["fourth", "First"]
    assert await ids(outcome="cancelled") == []
    assert await ids(search="DISK is") == ["second"]
    assert await ids(search="first") == ["First"]
    assert await ids(search="0% of") == ["third"]
    assert await ids(search="%d") == []
    assert await ids(search="add") == []
    assert await ids(search="d", outcome="dead", name="fail") == ["third", "second"]


async def test_the_history_is_read_page_by_page(hf: AsyncHoldfast) -> None:
    await run(hf, *[add.call(n).options(task_id=f"t{n}") for n in range(25)])
    queue, found, before = hf.queue("ended"), [], None
    while page := await queue.history(10, before=before):
        found += [each.task_id for each in page]
        before = page[-1].number
    assert len(found) == 25
    assert sorted(found) == sorted(f"t{n}" for n in range(25))
    with pytest.raises(ValueError, match="before must be 1 or more"):
        await queue.history(before=0)
    assert await queue.history(before=1) == []
    assert len(await queue.history(before=10**15)) == 25


async def test_a_long_history_is_searched_to_its_end(hf: AsyncHoldfast) -> None:
    await hf.queue("ended").redefine(history=5_000)
    await run(hf, fail.call("needle"), *[add.call(n) for n in range(1_100)])
    [found] = await hf.queue("ended").history(search="needle")
    assert found.task == "fail"
    everything = await hf.queue("ended").history(1_000)
    assert len({each.task_id for each in everything}) == 1_000


async def test_the_history_is_bounded_and_ends(hf: AsyncHoldfast, site: Site) -> None:
    queue = hf.queue("ended")
    await queue.redefine(history=10)
    await run(hf, *[add.call(n) for n in range(300)])
    key = f"{site.namespace}:{{queue:ended}}:history"
    assert 10 <= site.client.llen(key) <= 11
    assert 0 < site.client.ttl(key) <= 7 * 24 * 3600
    await queue.redefine(history=0)
    assert await queue.history() == []
    assert await run(hf, add.call(1), fail.call("no")) == []
    assert not site.client.exists(key)
    await queue.redefine(history=1_000)
    [ended] = await run(hf, add.call(1))
    assert ended.task == "add"


async def test_capacity_and_history_change_separately(hf: AsyncHoldfast) -> None:
    queue = hf.queue("ended")
    await queue.redefine(capacity=5, history=20)
    await queue.redefine(history=30)
    assert (await queue.stats()).capacity == 5
    await queue.redefine(capacity=None)
    assert (await queue.stats()).capacity is None
    with pytest.raises(ValueError, match="give capacity, history or both"):
        await queue.redefine()
    for history in (-1, 100_001):
        with pytest.raises(ValueError, match="history must be"):
            await queue.redefine(history=history)


async def test_a_replayed_task_is_noted_again(hf: AsyncHoldfast) -> None:
    [dead] = await run(hf, fail.call("no"))
    await hf.queue("ended").replay()
    found = await run(hf)
    assert [each.task_id for each in found] == [dead.task_id, dead.task_id]
    assert len({each.number for each in found}) == 2


DAMAGES = (
    "",
    "x",
    ":",
    "9" * 30,
    "1:2:done",
    "1:2:done:1:0:99999:id:5:3:add",
    "1:2:dead:x:0:2:id::0: y",
    "1:" + "9" * 15 + ":dead:1:1:2:id:5:999:\udcff",
    "1:2:done:1:1:2:id" + "9" * 30 + ":1:a",
)


@pytest.mark.parametrize("record", DAMAGES)
async def test_an_entry_of_another_program_is_shown(
    hf: AsyncHoldfast, site: Site, record: str
) -> None:
    await run(hf, add.call(1))
    key = f"{site.namespace}:{{queue:ended}}:history"
    site.client.rpush(key, record.encode(errors="surrogateescape"))
    found = await hf.queue("ended").history()
    assert len(found) == 2
    assert found[1].task == "add"
    await hf.queue("ended").history(search="z", name="q", outcome="dead")
    [ended, *_] = await run(hf, add.call(2))
    assert ended.task == "add"


async def test_a_key_of_another_type_does_not_stop_the_queue(hf: AsyncHoldfast, site: Site) -> None:
    site.client.set(f"{site.namespace}:{{queue:ended}}:history", "x")
    handle, cancelled = await hf.enqueue(add.call(1, b=1)), await hf.enqueue(add.call(1))
    assert await cancelled.cancel()
    await hf.worker(tasks).run(until_idle=True)
    assert await handle.result(timeout=0) == 2


async def test_a_task_of_another_language_has_its_name(hf: AsyncHoldfast, site: Site) -> None:
    prefix = f"{site.namespace}:{{queue:ended}}:"
    bodies = {
        "a": '{"task": "of order", "args": [{"task": "not this"}], "v": 1, "id": "a"}',
        "b": '{"v":1,"id":"b","queue":"ended","task":"quo\\"ted"}',
        "c": "no JSON",
        "d": '{"args": ["' + "x" * 5000 + '"], "task": "too long to look"}',
        "e": '{"v":1,"task":["no","text"]}',
    }
    for task_id, body in bodies.items():
        site.client.hset(prefix + "bodies", task_id, body)
        assert await hf.queue("ended").handle(task_id).cancel()
    names = {each.task_id: each.task for each in await hf.queue("ended").history()}
    assert names == {"a": "of order", "b": 'quo"ted', "c": "", "d": "", "e": ""}
