"""Relays, servers and databases are killed: what committed is enqueued, and only that."""

import gc
import random
import secrets
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path

import pytest
import sqlalchemy as sa
from sqlalchemy.ext.asyncio import create_async_engine

import holdfast
from faults.interrupts import interrupted_at
from faults.processes import Process
from faults.servers import Server
from faults.waiting import eventually, eventually_async
from holdfast import AsyncHoldfast, Holdfast, Outbox, TaskRegistry
from holdfast.core.concurrency._async.background_task import BackgroundTask
from outbox.conftest import Shop, new_shop
from outbox.tasks import receipt
from rows.postgres import Postgres

OUTBOX = str(Path(holdfast.__file__).parent / "outbox")
TASKS = 7


@pytest.mark.timeout(600)
@pytest.mark.parametrize("stride", [29, pytest.param(1, marks=pytest.mark.long)])
def test_interrupted_at_any_line(shop: Shop, standalone: Server, stride: int) -> None:
    """Whatever the next relay finds, each task is enqueued once, also if it has run meanwhile."""
    namespace = secrets.token_hex(4)
    with Holdfast.from_url(standalone.url, namespace=namespace) as hf:
        queue, step, place = hf.queue("email"), random.randrange(stride), ""
        while place is not None:
            step += stride
            with shop.engine.begin() as connection:
                calls = [receipt.call(n) for n in range(TASKS)]
                written = shop.outbox.enqueue_many(connection, calls)
            place = interrupted_at(
                step, hf.outbox_relay(shop.outbox, shop.engine).step, files=OUTBOX
            )
            before = [task.task_id for task in queue.tasks()]
            queue.purge()
            hf.outbox_relay(shop.outbox, shop.engine).run(until_idle=True)
            after = [task.task_id for task in queue.tasks()]
            queue.purge()
            assert before + after == written, place
        assert step > 50


@contextmanager
def relaying(url: str, namespace: str, shop: Shop) -> Iterator[Process]:
    """Run `holdfast outbox run` in a process that may be killed."""
    options = ("--url", url, "--namespace", namespace, "--database", shop.url)
    argv = ("-m", "holdfast", "outbox", "run", *options, "--table", shop.outbox.table.name)
    process = Process.python(*argv)
    process.start()
    try:
        yield process
    finally:
        process.close()


def starts(postgres: Postgres) -> bool:
    """Start it again, which fails while a process of the killed one is left."""
    try:
        postgres.start()
    except AssertionError:
        return False
    return True


class Application:
    """Writes orders with a task each, and rolls back every third transaction."""

    def __init__(self, shop: Shop) -> None:
        self._shop = shop
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._run)
        self.rolled_back: set[int] = set()

    def __enter__(self) -> "Application":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stopped.set()
        self._thread.join()

    def _run(self) -> None:
        order = 0
        while not self._stopped.wait(0.005):
            order += 1
            with suppress(sa.exc.DBAPIError), self._shop.engine.connect() as connection:
                connection.execute(sa.insert(self._shop.orders).values(id=order))
                self._shop.outbox.enqueue(connection, receipt.call(order))
                if order % 3:
                    connection.commit()
                else:
                    self.rolled_back.add(order)
                    connection.rollback()

    def committed(self) -> set[int]:
        """Return the orders that the database has."""
        with self._shop.engine.connect() as connection:
            return set(connection.scalars(sa.select(self._shop.orders.c.id)))


@contextmanager
def working(url: str, namespace: str) -> Iterator[Counter[int]]:
    """Run the tasks, and yield how often each order was handled."""
    registry, runs = TaskRegistry(), Counter[int]()

    @registry.task(queue="email", name="receipt")
    def handle(order: int) -> None:
        runs[order] += 1

    with Holdfast.from_url(url, namespace=namespace) as hf:
        worker = hf.worker(registry)
        thread = threading.Thread(target=worker.run)
        thread.start()
        try:
            yield runs
        finally:
            worker.stop()
            thread.join()


@pytest.mark.timeout(600)
@pytest.mark.filterwarnings("ignore:connection .* was deleted while still open:ResourceWarning")
@pytest.mark.parametrize("kills", [3, pytest.param(40, marks=pytest.mark.long)])
def test_relay_server_and_database_are_killed(kills: int) -> None:
    """Each order that committed is handled once, and no order that was rolled back."""
    chance, namespace = random.Random(kills), secrets.token_hex(4)
    with (
        Postgres() as postgres,
        Server("--appendonly", "yes", "--appendfsync", "always") as server,
        new_shop(postgres.url(), postgres.url()) as shop,
        working(server.url, namespace) as runs,
        relaying(server.url, namespace, shop) as relay,
        Application(shop) as application,
    ):
        for number in range(kills):
            seen = len(runs)
            eventually(lambda seen=seen: len(runs) > seen + chance.randrange(20))  # type: ignore[misc]
            if number % 3 == 0:
                relay.kill()
                relay.start()
            elif number % 3 == 1:
                server.kill()
                server.start()
            else:
                postgres.kill()
                eventually(partial(starts, postgres))
        application.__exit__()
        committed = application.committed()
        eventually(lambda: committed <= runs.keys())
        assert not application.rolled_back & runs.keys()
        assert runs.keys() == committed
        # If the server is killed, the tasks that run at that moment may run again.
        repeated = [order for order, times in runs.items() if times > 1]
        assert len(repeated) <= 64 * (kills // 3 + 1)
    gc.collect()  # connections that SQLAlchemy has lost, because PostgreSQL was killed meanwhile


@pytest.mark.parametrize("database", ["postgresql+asyncpg", "postgresql+psycopg", "mysql+asyncmy"])
async def test_a_relay_waits_for_a_database_that_is_away(
    database: str, standalone: Server, caplog: pytest.LogCaptureFixture
) -> None:
    """asyncpg raises the errors of the socket."""
    engine = create_async_engine(f"{database}://shop@127.0.0.1:1/shop")
    async with AsyncHoldfast.from_url(standalone.url) as hf:
        relay = hf.outbox_relay(Outbox(sa.MetaData()), engine)
        running = BackgroundTask(relay.run)
        await eventually_async(lambda: "is not relayed" in caplog.text)
        relay.stop()
        await running.outcome()
    await engine.dispose()


async def test_a_relay_waits_for_a_connection(
    shop: Shop, standalone: Server, caplog: pytest.LogCaptureFixture
) -> None:
    """The application may use all connections of the engine for some time."""
    options = {"pool_size": 2, "max_overflow": 0, "pool_timeout": 0.1}
    engine = create_async_engine(shop.async_url, **options)
    namespace = secrets.token_hex(4)
    async with AsyncHoldfast.from_url(standalone.url, namespace=namespace) as hf:
        async with engine.begin() as connection:
            await shop.outbox.enqueue(connection, receipt.call(1))
        async with engine.connect(), engine.connect():
            running = BackgroundTask(hf.outbox_relay(shop.outbox, engine).run)
            await eventually_async(lambda: "is not relayed" in caplog.text)
        await eventually_async(partial(is_queued, hf))
        await hf.close()
        await running.outcome()
    await engine.dispose()


async def is_queued(hf: AsyncHoldfast) -> bool:
    return bool(await hf.queue("email").tasks())


async def test_the_asyncio_relay_ends_with_its_client(shop: Shop, standalone: Server) -> None:
    """A relay of a closed client returns."""
    engine = create_async_engine(shop.async_url)
    hf = AsyncHoldfast.from_url(standalone.url, namespace=secrets.token_hex(4))
    running = BackgroundTask(hf.outbox_relay(shop.outbox, engine).run)
    await hf.close()
    await running.outcome()
    await engine.dispose()
