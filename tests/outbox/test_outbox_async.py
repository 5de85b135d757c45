"""An outbox: what commits is enqueued, in order; what is rolled back never runs."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
import sqlalchemy as sa

from faults.waiting import eventually_async
from holdfast import AsyncHoldfast, AsyncOutboxRelay, OutboxStatus, PayloadTooLarge
from holdfast.core.concurrency._async.background_task import BackgroundTask
from holdfast.outbox.sent import Sent
from outbox.conftest import Shop
from outbox.tasks import receipt, report, tasks, welcome


@pytest.fixture
def relay(hf: AsyncHoldfast, shop: Shop, engine: Any) -> AsyncOutboxRelay:
    return hf.outbox_relay(shop.outbox, engine)


async def state_of(hf: AsyncHoldfast, task_id: str) -> str:
    return (await hf.queue("email").handle(task_id).status()).state


async def orders_of(hf: AsyncHoldfast, queue: str = "email") -> list[int]:
    """Return the orders of the queued tasks, in order."""
    return [int(task.headers["order"]) for task in await hf.queue(queue).tasks(limit=1000)]


def call(order: int, queue: str = "email") -> Any:
    task = receipt if queue == "email" else report
    return task.call(order).options(headers={"order": str(order)})


async def test_a_committed_task_is_enqueued(
    hf: AsyncHoldfast, shop: Shop, engine: Any, relay: AsyncOutboxRelay
) -> None:
    async with engine.begin() as connection:
        await connection.execute(sa.insert(shop.orders).values(id=7))
        task_id = await shop.outbox.enqueue(connection, call(7))
    [waiting] = await relay.waiting()
    assert (waiting.task_id, waiting.queue, waiting.task) == (task_id, "email", "receipt")
    assert abs(waiting.created_at - datetime.now(UTC)) < timedelta(minutes=1)
    assert await orders_of(hf) == []
    assert await relay.step() == 1
    assert await relay.status() == OutboxStatus(0, 0, None)
    await hf.worker(tasks).run(until_idle=True)
    assert await hf.queue("email").handle(task_id).result(timeout=60) == 7


async def test_a_task_that_is_rolled_back_never_runs(
    hf: AsyncHoldfast, shop: Shop, engine: Any, relay: AsyncOutboxRelay
) -> None:
    async with engine.connect() as connection:
        await shop.outbox.enqueue(connection, call(1))
        await shop.outbox.enqueue_many(connection, [call(2), call(3)])
        await connection.rollback()
    await relay.run(until_idle=True)
    assert await orders_of(hf) == []


async def test_order_of_each_queue(
    hf: AsyncHoldfast, shop: Shop, engine: Any, relay: AsyncOutboxRelay
) -> None:
    async with engine.begin() as connection:
        await shop.outbox.enqueue(connection, call(0))
        ids = await shop.outbox.enqueue_many(connection, [call(n) for n in range(1, 600)])
        assert await shop.outbox.enqueue_many(connection, []) == []
    async with engine.begin() as connection:
        await shop.outbox.enqueue_many(connection, [call(n, "reports") for n in range(3)])
        await shop.outbox.enqueue(connection, call(600))
    status = await relay.status()
    assert (status.waiting, status.failed, len(set(ids))) == (604, 0, 599)
    await relay.run(until_idle=True)
    assert await orders_of(hf) == [*range(601)]
    assert await orders_of(hf, "reports") == [0, 1, 2]


async def test_delays_and_expiries_count_from_the_writing(
    hf: AsyncHoldfast, shop: Shop, engine: Any, relay: AsyncOutboxRelay
) -> None:
    table, hour = shop.outbox.table, 3_600_000
    async with engine.begin() as connection:
        await shop.outbox.enqueue(connection, call(1).options(delay=1800, task_id="soon"))
        await shop.outbox.enqueue(connection, call(2).options(delay=7200, task_id="later"))
        await shop.outbox.enqueue(connection, call(3).options(expires=1800, task_id="late"))
        # as if the relays had been away for an hour
        await connection.execute(sa.update(table).values(created_ms=table.c.created_ms - hour))
    assert await relay.step() == 3
    worker = hf.worker(tasks)
    running = BackgroundTask(worker.run)

    async def ended() -> bool:
        return await state_of(hf, "soon") == "done" and await state_of(hf, "late") == "dead"

    await eventually_async(ended)
    worker.stop()
    await running.outcome()
    [later] = await hf.queue("email").tasks("delayed")
    assert later.due_at is not None
    assert abs(later.due_at - datetime.now(UTC) - timedelta(hours=1)) < timedelta(minutes=2)


async def test_a_full_queue_keeps_its_rows_waiting(
    hf: AsyncHoldfast, shop: Shop, engine: Any, relay: AsyncOutboxRelay
) -> None:
    queue = hf.queue("email", capacity=5)
    await hf.enqueue(call(-1))
    async with engine.begin() as connection:
        await shop.outbox.enqueue_many(connection, [call(n) for n in range(12)])
        await shop.outbox.enqueue_many(connection, [call(n, "reports") for n in range(12)])
    for _ in range(12):
        await relay.step()
    assert await orders_of(hf) == [-1, 0, 1, 2, 3]
    assert len(await orders_of(hf, "reports")) == 12
    status = await relay.status()
    assert (status.waiting, status.failed) == (8, 0)
    await queue.purge()
    running = BackgroundTask(relay.run)
    await hf.worker(tasks).run(until_idle=True)
    relay.stop()
    await running.outcome()
    assert (await queue.stats()).ready <= 5


async def test_a_full_partition_repeats_no_task_of_the_others(
    hf: AsyncHoldfast, shop: Shop, engine: Any, relay: AsyncOutboxRelay
) -> None:
    """What another partition took leaves the outbox: it may have ended before the next try."""
    hf.queue("email", partitions=2, capacity=6)
    async with engine.begin() as connection:
        await shop.outbox.enqueue_many(connection, [call(n) for n in range(40)])
    started: list[int] = []
    while (await relay.status()).waiting:
        await relay.step()
        started += await orders_of(hf)
        await hf.queue("email").purge()
    assert sorted(started) == [*range(40)]


async def test_a_task_of_a_partition_is_set_aside(
    hf: AsyncHoldfast, shop: Shop, engine: Any, relay: AsyncOutboxRelay
) -> None:
    await hf.queue("email").repartition(2)
    async with engine.begin() as connection:
        wrong = await shop.outbox.enqueue(connection, call(1).options(queue="email/1"))
        await shop.outbox.enqueue(connection, call(2))
        await shop.outbox.enqueue(connection, call(3, "reports"))
    await relay.run(until_idle=True)
    assert await orders_of(hf) == [2]
    assert await orders_of(hf, "reports") == [3]
    [failed] = await relay.failed()
    assert failed.task_id == wrong
    assert "is a partition of queue 'email': use that name" in failed.error


async def test_a_task_that_can_never_be_enqueued(
    hf: AsyncHoldfast, shop: Shop, engine: Any, relay: AsyncOutboxRelay
) -> None:
    table = shop.outbox.table
    async with engine.begin() as connection:
        await shop.outbox.enqueue(connection, call(1))
        first = await shop.outbox.enqueue(connection, welcome.call("jack"))
        second = await shop.outbox.enqueue(connection, welcome.call("jack"))
        await shop.outbox.enqueue(connection, call(2).options(task_id="damaged"))
        await shop.outbox.enqueue(connection, call(3))
        damage = sa.update(table).where(table.c.task_id == "damaged").values(envelope=b"{")
        await connection.execute(damage)
    await relay.run(until_idle=True)
    failed = {row.task_id: row.error for row in await relay.failed()}
    assert failed.keys() == {second, "damaged"}
    assert first in failed[second]
    assert "cannot be decoded" in failed["damaged"]
    assert [row.task_id for row in await hf.queue("email").tasks()][1] == first
    assert len(await hf.queue("email").tasks()) == 3

    assert await relay.discard(["damaged", "unknown"]) == 1
    assert await relay.retry([second]) == 1
    for change in (relay.retry, relay.discard):
        with pytest.raises(TypeError, match="a sequence of ids, not a single str"):
            await change(second)
    assert [row.task_id for row in await relay.waiting()] == [second]
    await hf.queue("email").purge()
    await relay.run(until_idle=True)
    assert [row.task_id for row in await hf.queue("email").tasks()] == [second]
    assert await relay.failed() == []


async def test_a_row_that_commits_late_is_enqueued(
    hf: AsyncHoldfast, shop: Shop, engine: Any, relay: AsyncOutboxRelay
) -> None:
    """A transaction may number its row first, and commit last: then a batch has a hole."""
    table = shop.outbox.table
    async with engine.begin() as connection:
        await shop.outbox.enqueue_many(connection, [call(n) for n in range(10)])
        named = sa.update(table).where(table.c.seq <= 5)
        await connection.execute(named.values(batch="b" * 32))  # by a relay that was killed
        await connection.execute(sa.update(table).values(seq=table.c.seq * 1000))
        task_id = await shop.outbox.enqueue(connection, call(77))
        late = sa.update(table).where(table.c.task_id == task_id)
        await connection.execute(late.values(seq=2500))
    await relay.run(until_idle=True)
    assert await orders_of(hf) == [0, 1, 2, 3, 4, 77, *range(5, 10)]


async def test_a_batch_that_was_sent_is_applied_once(
    hf: AsyncHoldfast, shop: Shop, engine: Any, relay: AsyncOutboxRelay
) -> None:
    """The relay is killed after the server has replied: the next one sends the same batch."""

    class Killed(Exception):
        pass

    send = relay._enqueue

    async def killed(batch: Any) -> Any:
        await send(batch)
        raise Killed

    async with engine.begin() as connection:
        await shop.outbox.enqueue_many(connection, [call(n) for n in range(10)])
    relay._enqueue = killed  # type: ignore[method-assign]
    with pytest.raises(Killed):
        await relay.step()
    assert await orders_of(hf) == [*range(10)]
    assert (await relay.status()).waiting == 10
    await hf.queue("email").purge()
    async with engine.begin() as connection:
        await shop.outbox.enqueue(connection, call(10))
    await hf.outbox_relay(shop.outbox, engine).run(until_idle=True)
    assert await orders_of(hf) == [10]


async def test_numbers_of_rows_are_not_used_again(shop: Shop, engine: Any) -> None:
    """A relay that holds the numbers of a batch must not meet other rows under them."""
    table, seen = shop.outbox.table, set[int]()
    for _ in range(3):
        async with engine.begin() as connection:
            await shop.outbox.enqueue_many(connection, [call(n) for n in range(5)])
        async with engine.begin() as connection:
            found = set((await connection.scalars(sa.select(table.c.seq))).all())
            await connection.execute(sa.delete(table))
        assert not seen & found
        seen |= found


async def test_a_relay_sends_only_the_batch_that_it_named(
    hf: AsyncHoldfast, shop: Shop, engine: Any, relay: AsyncOutboxRelay
) -> None:
    """Between its two transactions another relay sends the batch, and other rows come first."""
    rows, table = relay._rows, shop.outbox.table
    locks_first, others = rows._locks_first, hf.outbox_relay(shop.outbox, engine)

    async def too_late(connection: Any, queue: str, name: str | None = None) -> bool:
        if name is not None:  # the rows were sent, and their numbers given to others
            await connection.execute(sa.update(table).values(batch="b" * 32))
        return await locks_first(connection, queue, name)

    async with engine.begin() as connection:
        await shop.outbox.enqueue_many(connection, [call(n) for n in range(5)])
    rows._locks_first = too_late  # type: ignore[method-assign]
    assert await relay.step() == 0
    assert (await relay.status()).waiting == 5
    assert await others.step() == 5
    assert await orders_of(hf) == [*range(5)]


async def test_names_of_queues_are_compared_exactly(
    hf: AsyncHoldfast, shop: Shop, engine: Any, relay: AsyncOutboxRelay
) -> None:
    """MySQL ignores blanks at the end of a text, also with a binary collation."""
    queues = ["email", "email ", "email ", "Email", "email"]
    async with engine.begin() as connection:
        for number, queue in enumerate(queues):
            await shop.outbox.enqueue(connection, call(number).options(queue=queue))
    await relay.run(until_idle=True)
    found = {queue: await orders_of(hf, queue) for queue in queues}
    assert found == {"email": [0, 4], "email ": [1, 2], "Email": [3]}


async def test_sqlite_is_not_locked_for_a_server_that_is_away(shop: Shop, engine: Any) -> None:
    """A relay of SQLite locks the database, so it first asks whether the server answers."""
    if engine.dialect.name != "sqlite":
        pytest.skip("other databases lock only the rows that are sent")
    async with engine.begin() as connection:
        await shop.outbox.enqueue(connection, call(1))
    sent = list[Any]()
    async with AsyncHoldfast.from_url("redis://127.0.0.1:1") as hf:
        relay = hf.outbox_relay(shop.outbox, engine)

        async def send(batch: Any) -> Any:
            sent.append(batch)
            return Sent.nothing()

        relay._enqueue = send  # type: ignore[method-assign]
        assert await relay.step() == 0
        assert (await relay.status()).waiting == 1
    assert sent == []


async def test_two_relays_share_the_work(hf: AsyncHoldfast, shop: Shop, engine: Any) -> None:
    relays = [hf.outbox_relay(shop.outbox, engine) for _ in range(2)]
    running = [BackgroundTask(relay.run) for relay in relays]
    for n in range(0, 200, 10):
        async with engine.begin() as connection:
            await shop.outbox.enqueue_many(connection, [call(n + i) for i in range(10)])
    await hf.outbox_relay(shop.outbox, engine).run(until_idle=True)
    for relay in relays:
        relay.stop()
    for each in running:
        await each.outcome()
    assert await orders_of(hf) == [*range(200)]


async def test_wrong_use(
    hf: AsyncHoldfast, shop: Shop, engine: Any, relay: AsyncOutboxRelay
) -> None:
    with pytest.raises(TypeError, match="uses an"):
        hf.outbox_relay(shop.outbox, object())  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="expected a Session"):
        shop.outbox.enqueue(engine, receipt.call(1))
    async with engine.begin() as connection:
        with pytest.raises(PayloadTooLarge):
            await shop.outbox.enqueue(connection, receipt.call("x" * 2_000_000))  # type: ignore[arg-type]
        with pytest.raises(TypeError, match="expected a call"):
            await shop.outbox.enqueue(connection, receipt)  # type: ignore[arg-type, call-overload]
    assert (await relay.status()).waiting == 0
    async with engine.begin() as connection:
        await connection.execute(sa.schema.DropTable(shop.outbox.table))
    with pytest.raises(ValueError, match=r"cannot be read .*: create it"):
        await relay.run()
