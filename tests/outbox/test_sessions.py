"""An outbox in the sessions of an ORM, and in more than one schema."""

from typing import Any

import pytest
import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncSession, create_async_engine
from sqlalchemy.orm import DeclarativeBase, Mapped, Session, mapped_column

from faults.servers import Server
from holdfast import Holdfast, Outbox, TaskRegistry, TraceContext, use_trace
from outbox.conftest import Shop
from outbox.tasks import receipt
from rows.postgres import Postgres


class Base(DeclarativeBase):
    pass


class Order(Base):
    __tablename__ = "orders_of_sessions"
    id: Mapped[int] = mapped_column(primary_key=True)


outbox = Outbox(Base.metadata, name="outbox_of_sessions")


@pytest.fixture
def tables(shop: Shop) -> None:
    Base.metadata.drop_all(shop.engine)
    Base.metadata.create_all(shop.engine)


def waiting(shop: Shop) -> list[str]:
    with shop.engine.connect() as connection:
        rows = sa.select(outbox.table.c.task_id).order_by(outbox.table.c.seq)
        return list(connection.scalars(rows))


def test_a_session(shop: Shop, tables: None) -> None:
    with Session(shop.engine) as session:
        order = Order(id=1)
        session.add(order)
        session.flush()
        first = outbox.enqueue(session, receipt.call(order.id))
        with session.begin_nested() as savepoint:
            outbox.enqueue(session, receipt.call(2))
            savepoint.rollback()
        session.commit()
        outbox.enqueue(session, receipt.call(3))
        session.rollback()
    assert waiting(shop) == [first]


async def test_an_async_session(shop: Shop, tables: None) -> None:
    engine = create_async_engine(shop.async_url)
    async with AsyncSession(engine) as session, session.begin():
        session.add(Order(id=2))
        first = await outbox.enqueue(session, receipt.call(2))
        more = await outbox.enqueue_many(session, [receipt.call(3), receipt.call(4)])
    await engine.dispose()
    assert waiting(shop) == [first, *more]


def test_a_session_with_several_databases(shop: Shop, tables: None) -> None:
    """The session chooses the database by the table of the outbox."""
    other = sa.create_engine("sqlite://")
    Base.metadata.create_all(other)
    with Session(binds={Order: other, outbox.table: shop.engine}) as session:
        session.add(Order(id=1))
        first = outbox.enqueue(session, receipt.call(1))
        session.commit()

    class Routed(Session):
        """Reads from another database than it writes to."""

        def get_bind(self, mapper: Any = None, *, clause: Any = None, **_: Any) -> sa.Engine:
            return shop.engine if isinstance(clause, sa.Insert) else other

    with Routed() as session:
        second = outbox.enqueue(session, receipt.call(2))
        session.commit()
    other.dispose()
    assert waiting(shop) == [first, second]


async def test_more_tasks_than_a_statement_has_parameters(shop: Shop, tables: None) -> None:
    engine = create_async_engine(shop.async_url)
    async with AsyncSession(engine) as session, session.begin():
        ids = await outbox.enqueue_many(session, [receipt.call(n) for n in range(5_000)])
    await engine.dispose()
    assert waiting(shop) == ids


def test_hooks_and_the_trace_of_the_request(shop: Shop, standalone: Server) -> None:
    registry = TaskRegistry()
    registry.on_enqueue(lambda call: call.options(headers={"tenant": "7"}))

    @registry.task(queue="traced")
    def traced() -> None: ...

    trace = TraceContext(f"00-{'1' * 32}-{'2' * 16}-01")
    with shop.engine.begin() as connection, use_trace(trace):
        task_id = shop.outbox.enqueue(connection, traced.call())
        [body] = connection.scalars(sa.select(shop.outbox.table.c.envelope))
    assert trace.traceparent.encode() in body
    with Holdfast.from_url(standalone.url, namespace=task_id) as hf:
        hf.outbox_relay(shop.outbox, shop.engine).run(until_idle=True)
        [task] = hf.queue("traced").tasks()
    assert task.headers == {"tenant": "7"}


def test_postgresql_notifies_at_the_commit(shop: Shop, postgres: Postgres) -> None:
    if shop.engine.dialect.name != "postgresql":
        pytest.skip("other databases have no notifications")
    with shop.engine.connect() as listener:
        listener.exec_driver_sql("LISTEN holdfast_outbox")
        listener.commit()
        driver = listener.connection.driver_connection
        assert driver is not None
        with shop.engine.connect() as connection:
            shop.outbox.enqueue(connection, receipt.call(1))
            connection.rollback()
            assert list(driver.notifies(timeout=0.2)) == []
            shop.outbox.enqueue(connection, receipt.call(1))
            connection.commit()
        assert len(list(driver.notifies(timeout=60, stop_after=1))) == 1
