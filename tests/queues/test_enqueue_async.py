"""Enqueueing: what is stored, in which order, and exactly once."""

from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta

import pytest

from conftest import Site
from holdfast import (
    AsyncHoldfast,
    InvalidName,
    PayloadTooLarge,
    QueueAtCapacity,
    ServerRefused,
    TaskRegistry,
)
from holdfast.core.names import Namespace
from holdfast.queues import keys
from holdfast.queues._async.task_sender import ENQUEUE, ENQUEUE_PLAIN
from holdfast.queues.enqueue_batch import packed, plain_arguments

tasks = TaskRegistry()
ran: list[object] = []


@tasks.task(queue="email")
async def note(value: object) -> None:
    ran.append(value)


@tasks.task(queue="email")
def note_in_thread(value: object) -> None:
    ran.append(value)


@tasks.task(queue="reports")
async def report(value: object) -> None:
    ran.append(("report", value))


@pytest.fixture
async def hf(site: Site) -> AsyncIterator[AsyncHoldfast]:
    ran.clear()
    async with AsyncHoldfast.from_url(site.url, namespace=site.namespace) as hf:
        yield hf


async def drain(hf: AsyncHoldfast) -> None:
    """Run everything, one task at a time."""
    await hf.worker(tasks, concurrency=1).run(until_idle=True)


async def test_tasks_run_first_in_first_out(hf: AsyncHoldfast) -> None:
    await hf.enqueue(note.call(0))
    await hf.enqueue_many([note.call(1), note_in_thread.call(2), note.call(3)])
    await hf.enqueue(note.call(4))
    await drain(hf)
    assert ran == [0, 1, 2, 3, 4]


async def test_many_tasks_keep_their_order_across_steps(hf: AsyncHoldfast) -> None:
    """More than fit into one step, by number and by size."""
    calls = [note.call(n) for n in range(601)] + [note.call("x" * 200_000) for _ in range(6)]
    handles = await hf.enqueue_many(calls)
    assert len({handle.task_id for handle in handles}) == 607
    assert (await hf.queue("email").stats()).ready == 607
    await drain(hf)
    assert ran[:601] == list(range(601))
    assert len(ran) == 607


async def test_calls_go_to_the_queues_that_they_name(hf: AsyncHoldfast) -> None:
    handles = await hf.enqueue_many([note.call(1), report.call(2), note.call(3)])
    assert [handle.queue for handle in handles] == ["email", "reports", "email"]
    assert sorted(await hf.queues()) == ["email", "reports"]
    assert (await hf.queue("email").stats()).ready == 2
    assert (await hf.queue("reports").stats()).ready == 1
    await drain(hf)
    assert sorted(map(str, ran)) == ["('report', 2)", "1", "3"]


async def test_nothing_to_enqueue_is_fine(hf: AsyncHoldfast) -> None:
    assert await hf.enqueue_many([]) == []


async def test_a_task_id_that_the_queue_has_is_not_stored_again(hf: AsyncHoldfast) -> None:
    handle = await hf.enqueue(note.call("first").options(task_id="sold-17"))
    assert handle.task_id == "sold-17"
    again = await hf.enqueue(note.call("second").options(task_id="sold-17"))
    assert again.task_id == "sold-17"
    await hf.enqueue_many([note.call(n).options(task_id="twin") for n in (1, 2)])
    await drain(hf)
    assert ran == ["first", 1]


async def test_an_op_id_of_ones_own_makes_a_call_count_once(hf: AsyncHoldfast) -> None:
    """Any name will do, even when the task has already run; another name is another operation."""
    first = await hf.enqueue(note.call("mail"), op_id="order 17: {mail}")
    await drain(hf)
    second = await hf.enqueue(note.call("mail"), op_id="order 17: {mail}")
    assert second == first
    await hf.enqueue(note.call("other"), op_id="order 18")
    await hf.enqueue_many([note.call(n) for n in range(700)], op_id="batch")
    await hf.enqueue_many([note.call(n) for n in range(700)], op_id="batch")
    await drain(hf)
    assert ran == ["mail", "other", *range(700)]


@pytest.mark.parametrize("room", [None, 5])
async def test_the_two_scripts_answer_the_repetitions_of_each_other(
    hf: AsyncHoldfast, site: Site, room: int | None
) -> None:
    """One of them stores plain tasks only; a repetition may meet the other one."""
    calls = [note.call(n).options(task_id=f"twin-{n % 3}") for n in range(5)]
    unit = Namespace.of(site.namespace).unit(keys.KIND, "email")
    caller = hf.queue("email", capacity=room)._caller
    tasks_ = [packed(call, str(call.task_id)) for call in calls]
    plain = plain_arguments(tasks_)
    assert plain is not None
    any_ = [part for task in tasks_ for part in task]
    for number, first in ((1, ENQUEUE), (2, ENQUEUE_PLAIN)):
        for script in (first, ENQUEUE, ENQUEUE_PLAIN):
            args = plain if script is ENQUEUE_PLAIN else any_
            answer = await caller.call(
                script, unit, script.keys(unit), ["a-writer", number, "", len(calls), *args]
            )
            assert answer == (b"11100" if number == 1 else b"00000")
        assert (await hf.queue("email").stats()).ready == 3


async def test_a_batch_fits_if_its_new_tasks_do(hf: AsyncHoldfast) -> None:
    hf.queue("email", capacity=3)
    calls = [note.call(n).options(task_id=f"a-{n}") for n in range(4)]
    await hf.enqueue_many([calls[0], calls[1], calls[0]])
    with pytest.raises(QueueAtCapacity):
        await hf.enqueue_many(calls)
    await hf.enqueue_many(calls[:3])
    with pytest.raises(QueueAtCapacity):
        await hf.enqueue(calls[3])
    assert (await hf.enqueue(calls[2])).enqueued == "existing"
    assert (await hf.queue("email").stats()).ready == 3


async def test_the_id_of_a_cancelled_task_does_not_take_its_turn(hf: AsyncHoldfast) -> None:
    """Its id is still in the ready list, so the later task of the same id goes elsewhere."""
    first = await hf.enqueue(note.call("cancelled").options(task_id="again"))
    await hf.enqueue(note.call("between"))
    assert await first.cancel()
    await hf.enqueue_many([note.call("last"), note.call("again").options(task_id="again")])
    await hf.queue("email").pause()
    assert (await hf.queue("email").stats()).ready == 3
    await hf.queue("email").resume()
    await drain(hf)
    assert sorted(map(str, ran)) == ["again", "between", "last"]


async def test_an_operation_that_its_writer_left_behind_is_refused(hf: AsyncHoldfast) -> None:
    await hf.enqueue(note.call(1), op_id="hf:0123456789abc.2")
    with pytest.raises(ServerRefused, match="SUPERSEDED"):
        await hf.enqueue(note.call(2), op_id="hf:0123456789abc.1")
    assert (await hf.queue("email").stats()).ready == 1


async def test_priorities_and_due_times_decide_before_order(hf: AsyncHoldfast) -> None:
    """High before medium before low; what was delayed comes before the others of its priority."""
    await hf.enqueue(note.call("low").options(priority="low"))
    await hf.enqueue(note.call("medium"))
    await hf.enqueue(note.call("past").options(at=datetime.now(UTC) - timedelta(hours=1)))
    await hf.enqueue(note.call("high").options(priority="high"))
    await hf.enqueue(note.call("late").options(delay=0.3, priority="high"))
    await hf.enqueue(note.call("never late").options(delay=0))
    await drain(hf)
    ran.remove("late")  # its turn came when it was due, however long that took here
    assert ran == ["high", "past", "medium", "never late", "low"]


@pytest.mark.parametrize("name", ["", "a{b}c", "{}", "a:b", "Ünï¢ödé 张三", "*?[x]", "\n\x00", "%"])
async def test_any_name_is_a_queue_of_its_own(hf: AsyncHoldfast, site: Site, name: str) -> None:
    registry = TaskRegistry()
    task = registry.task(queue=name)(lambda: ran.append(name))
    await hf.enqueue(task.call())
    assert await hf.queues() == [name]
    await hf.worker(registry).run(until_idle=True)
    assert ran == [name]
    keys = [key.decode() for key in site.client.scan_iter(f"{site.namespace}:*")]
    assert all(key.count("{") == key.count("}") == 1 for key in keys)


async def test_what_cannot_be_a_name_is_refused_before_any_io() -> None:
    """Half a surrogate pair, overlong: nothing is sent, so no server is needed."""
    async with AsyncHoldfast.from_url("redis://127.0.0.1:1") as hf:
        with pytest.raises(InvalidName, match="not valid Unicode"):
            hf.queue("\ud800")
        with pytest.raises(InvalidName, match="the limit is 512"):
            hf.queue("x" * 513)
        with pytest.raises(InvalidName):
            AsyncHoldfast.from_url("redis://127.0.0.1:1", namespace="\udfff")


async def test_an_oversize_payload_is_refused_before_any_io() -> None:
    async with AsyncHoldfast.from_url("redis://127.0.0.1:1") as hf:
        with pytest.raises(PayloadTooLarge, match="the limit is 1,048,576"):
            await hf.enqueue(note.call("x" * (1 << 20)))
        with pytest.raises(PayloadTooLarge):
            await hf.enqueue_many([note.call(1)] * 600 + [note.call("x" * (1 << 20))])
        with pytest.raises(TypeError, match="cannot be stored"):
            await hf.enqueue(note.call(object()))


async def test_what_everybody_forgets_once_is_explained() -> None:
    """A task instead of a call, the result of running it, a call where many are wanted."""
    hf = AsyncHoldfast.from_url("redis://127.0.0.1:1")
    with pytest.raises(TypeError, match=r"expected a call such as note.call\(…\), got Task"):
        await hf.enqueue(note)
    with pytest.raises(TypeError, match="got NoneType"):
        await hf.enqueue_many([None])
    with pytest.raises(TypeError, match="for a single one use enqueue"):
        await hf.enqueue_many(note.call(1))
    with pytest.raises(TypeError, match="takes a TaskRegistry, got Task"):
        hf.worker(note)
    with pytest.raises(TypeError, match="queues maps names to weights"):
        hf.worker(tasks, queues=["email"])
    with pytest.raises(TypeError, match="retry must be a Retry"):
        TaskRegistry().task(retry=5)
