"""Sessions of SQLAlchemy that invalidate in the cache the rows that they commit."""

import logging
import secrets
from collections.abc import Iterator

import pytest
import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncSession, async_sessionmaker, create_async_engine
from sqlalchemy.orm import DeclarativeBase, Session, sessionmaker

from faults.proxy import Proxy
from faults.servers import Server
from holdfast import AsyncHoldfast, CommitHook, Holdfast, RowCache, SqlRows
from rows.conftest import Database


class Base(DeclarativeBase):
    """Base of the mapped classes."""


class Stock(Base):
    __tablename__ = "stock_of_sessions"
    shop = sa.Column(sa.String(20), primary_key=True)
    id = sa.Column(sa.Integer, primary_key=True, autoincrement=False)
    left = sa.Column(sa.Integer)


class Other(Base):
    __tablename__ = "other_of_sessions"
    id = sa.Column(sa.Integer, primary_key=True)


@pytest.fixture
def hf(standalone: Server) -> Iterator[Holdfast]:
    with Holdfast.from_url(standalone.url, namespace=secrets.token_hex(4)) as hf:
        yield hf


@pytest.fixture
def sessions(database: Database) -> Iterator[sessionmaker[Session]]:
    Base.metadata.create_all(database.engine)
    sessions = sessionmaker(database.engine)
    with sessions.begin() as session:
        session.add_all([Stock(shop="eu", id=n, left=10) for n in range(5)])
    yield sessions
    Base.metadata.drop_all(database.engine)


@pytest.fixture
def cache(hf: Holdfast, database: Database, sessions: sessionmaker[Session]) -> RowCache:
    cache = hf.row_cache("stock", source=SqlRows(database.engine, Stock, key=["shop", "id"]))
    cache.get_many([("eu", n) for n in range(5)])
    return cache


@pytest.fixture
def hook(cache: RowCache, sessions: sessionmaker[Session]) -> Iterator[CommitHook]:
    hook = cache.invalidate_on_commit(sessions)
    yield hook
    hook.remove()


def cached(cache: RowCache) -> list[int]:
    """Return the ids of the rows that are still cached."""
    rows = cache.get_many([("eu", n) for n in range(8)], timeout=0)
    return [row_id[1] for row_id, row in rows.items() if row.state != "uncached"]  # type: ignore[index]


def test_a_commit_invalidates(
    cache: RowCache, hook: CommitHook, sessions: sessionmaker[Session]
) -> None:
    with sessions() as session:
        session.get_one(Stock, ("eu", 1)).left = 9
        session.add(Stock(shop="eu", id=7, left=1))
        session.add(Other(id=1))
        session.delete(session.get_one(Stock, ("eu", 2)))
        session.get_one(Stock, ("eu", 3)).left = 10  # as before
        session.flush()
        assert cached(cache) == [0, 1, 2, 3, 4]
        session.commit()
    assert cached(cache) == [0, 3, 4]
    assert cache.get(("eu", 1)).value["left"] == 9
    assert cache.get(("eu", 2)).state == "absent"


def test_a_rollback_invalidates_nothing(
    cache: RowCache, hook: CommitHook, sessions: sessionmaker[Session]
) -> None:
    with sessions() as session:
        session.get_one(Stock, ("eu", 1)).left = 9
        session.flush()
        session.rollback()
        session.get_one(Stock, ("eu", 4)).left = 9
        session.commit()
    assert cached(cache) == [0, 1, 2, 3]


def test_a_session_that_is_closed_invalidates_nothing(
    cache: RowCache, hook: CommitHook, sessions: sessionmaker[Session]
) -> None:
    with sessions() as session:
        session.get_one(Stock, ("eu", 1)).left = 9
        session.flush()
        session.close()
        session.get_one(Stock, ("eu", 4)).left = 9
        session.commit()
    assert cached(cache) == [0, 1, 2, 3]


def test_a_savepoint_is_no_commit(
    cache: RowCache, hook: CommitHook, sessions: sessionmaker[Session]
) -> None:
    with sessions() as session:
        with session.begin_nested():
            session.get_one(Stock, ("eu", 1)).left = 9
        assert cached(cache) == [0, 1, 2, 3, 4]
        session.commit()
    assert cached(cache) == [0, 2, 3, 4]
    with sessions() as session:
        with session.begin_nested():
            session.get_one(Stock, ("eu", 2)).left = 9
        session.rollback()
    assert cached(cache) == [0, 2, 3, 4]


def test_a_key_that_changes(
    cache: RowCache, hook: CommitHook, sessions: sessionmaker[Session]
) -> None:
    assert cache.get(("eu", 6)).state == "absent"
    with sessions.begin() as session:
        session.get_one(Stock, ("eu", 4)).id = 6
    assert cached(cache) == [0, 1, 2, 3]


def test_a_statement_says_what_it_touches(
    cache: RowCache, hook: CommitHook, sessions: sessionmaker[Session]
) -> None:
    with sessions.begin() as session:
        session.execute(sa.update(Stock).where(Stock.id == 3).values(left=0))
        hook.touch(session, ("eu", 3))
    assert cached(cache) == [0, 1, 2, 4]
    hook.remove()
    with sessions.begin() as session:
        session.get_one(Stock, ("eu", 1)).left = 9
    assert 1 in cached(cache)
    for name in ("after_flush", "after_commit", "after_transaction_end"):  # for the fixture
        sa.event.listen(hook._target, name, hook._listeners[name])


def test_a_commit_stands_though_the_cache_is_away(
    proxy: Proxy,
    database: Database,
    sessions: sessionmaker[Session],
    caplog: pytest.LogCaptureFixture,
) -> None:
    url = f"{proxy.url}?socket_timeout=5"
    with Holdfast.from_url(url, namespace=secrets.token_hex(4)) as hf:
        cache = hf.row_cache("stock", source=SqlRows(database.engine, Stock, key=["shop", "id"]))
        cache.get(("eu", 1))
        hook = cache.invalidate_on_commit(sessions)
        with proxy.refuse(), caplog.at_level(logging.ERROR), sessions.begin() as session:
            proxy.cut()
            session.get_one(Stock, ("eu", 1)).left = 9
        hook.remove()
    assert "1 row of SqlRows('stock_of_sessions') changed, such as ('eu', 1)" in caplog.text
    with sessions() as session:
        assert session.get_one(Stock, ("eu", 1)).left == 9


@pytest.mark.parametrize("target", ["maker", "configured maker", "session"])
async def test_async_sessions(
    standalone: Server, database: Database, sessions: sessionmaker[Session], target: str
) -> None:
    engine = create_async_engine(database.async_url)
    inner = {"sync_session_class": sessionmaker()} if target == "configured maker" else {}
    maker = async_sessionmaker(engine, **inner)  # type: ignore[arg-type]
    namespace = secrets.token_hex(4)
    async with AsyncHoldfast.from_url(standalone.url, namespace=namespace) as hf:
        cache = hf.row_cache("stock", source=SqlRows(engine, Stock, key=["shop", "id"]))
        await cache.get_many([("eu", 1), ("eu", 2)])
        async with AsyncSession(engine) as alone:
            hook = cache.invalidate_on_commit(alone if target == "session" else maker)
            async with alone if target == "session" else maker() as session:
                (await session.get_one(Stock, ("eu", 1))).left = 9
                await session.rollback()
                (await session.get_one(Stock, ("eu", 2))).left = 9
                hook.touch(session, ("eu", 3))
                await session.commit()
            hook.remove()
        assert (await cache.get(("eu", 1), timeout=0)).state == "fresh"
        assert (await cache.get(("eu", 2), timeout=0)).state == "uncached"
        with pytest.raises(TypeError, match="needs an async_sessionmaker or an AsyncSession"):
            cache.invalidate_on_commit(sessions)
    await engine.dispose()


def test_a_cache_of_something_else(hf: Holdfast, sessions: sessionmaker[Session]) -> None:
    with pytest.raises(TypeError, match="the source of row cache 'stock' must be SqlRows"):
        hf.row_cache("stock").invalidate_on_commit(sessions)
