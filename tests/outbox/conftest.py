"""Outboxes in SQLite, and in real servers of PostgreSQL and MariaDB."""

import inspect
import secrets
import shutil
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncEngine, create_async_engine

from holdfast import Outbox
from outbox.mariadb import MariaDb
from rows.conftest import postgres as postgres  # noqa: PLC0414 (it is a fixture)


@pytest.fixture(scope="session")
def mariadb() -> Iterator[MariaDb]:
    """Start a MariaDB that all tests share; each test creates its own table."""
    if shutil.which("mariadbd") is None:
        pytest.skip("install mariadb-server")
    with MariaDb() as mariadb:
        yield mariadb


@dataclass(frozen=True)
class Shop:
    """A database with orders and an outbox, both in tables that only this test uses.

    Attributes:
        url: the URL for a blocking engine.
        async_url: the URL for an asyncio engine.
        outbox: the outbox.
        orders: a table of the application.
        engine: a blocking engine.
    """

    url: str
    async_url: str
    outbox: Outbox
    orders: sa.Table
    engine: sa.Engine


@pytest.fixture(params=["sqlite", "postgresql", "mariadb"])
def shop(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Shop]:
    """Yield a shop in a database of each kind."""
    if request.param == "sqlite":
        file = tmp_path / "shop.db"
        urls = f"sqlite:///{file}", f"sqlite+aiosqlite:///{file}"
    else:
        name = {"postgresql": "postgres"}.get(request.param, request.param)
        server = request.getfixturevalue(name)
        urls = server.url(), server.url({"postgresql": "asyncpg"}.get(request.param, "asyncmy"))
    with new_shop(*urls) as shop:
        yield shop


class new_shop:  # noqa: N801 (used like a function)
    """Create the tables of a shop, and dispose of its engine at the end."""

    def __init__(self, url: str, async_url: str) -> None:
        metadata, tag = sa.MetaData(), secrets.token_hex(4)
        outbox = Outbox(metadata, name=f"outbox_{tag}")
        orders = sa.Table(f"orders_{tag}", metadata, sa.Column("id", sa.Integer, primary_key=True))
        self._shop = Shop(url, async_url, outbox, orders, sa.create_engine(url))
        metadata.create_all(self._shop.engine)

    def __enter__(self) -> Shop:
        return self._shop

    def __exit__(self, *_: object) -> None:
        self._shop.engine.dispose()


@pytest.fixture
async def engine_async(shop: Shop) -> AsyncIterator[AsyncEngine]:
    """Yield an asyncio engine for the shop."""
    engine = create_async_engine(shop.async_url)
    yield engine
    await engine.dispose()


@pytest.fixture
def engine_sync(shop: Shop) -> sa.Engine:
    """Return the blocking engine of the shop."""
    return shop.engine


@pytest.fixture
def engine(request: pytest.FixtureRequest) -> sa.Engine | AsyncEngine:
    """Return an engine for the shop: an `AsyncEngine` for a test that is a coroutine function."""
    is_async = inspect.iscoroutinefunction(request.function)
    found: sa.Engine | AsyncEngine = request.getfixturevalue(
        "engine_async" if is_async else "engine_sync"
    )
    return found
