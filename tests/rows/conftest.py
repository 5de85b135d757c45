"""Databases for the row cache: SQLite, and a real PostgreSQL."""

import secrets
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
import sqlalchemy as sa

from rows.postgres import Postgres


@pytest.fixture(scope="session")
def postgres() -> Iterator[Postgres]:
    """Start a PostgreSQL that all tests share; each test creates its own tables."""
    with Postgres() as postgres:
        yield postgres


@dataclass(frozen=True)
class Database:
    """A database, and the name of a table that only this test uses.

    Attributes:
        kind: `sqlite` or `postgresql`.
        url: the URL for a blocking engine.
        async_url: the URL for an asyncio engine.
        table: the name of the table.
        engine: a blocking engine.
    """

    kind: str
    url: str
    async_url: str
    table: str
    engine: sa.Engine


@pytest.fixture(params=["sqlite", "postgresql"])
def database(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Database]:
    """Yield a database of each kind, and dispose of its engine at the end."""
    if request.param == "sqlite":
        file = tmp_path / "shop.db"
        urls = f"sqlite:///{file}", f"sqlite+aiosqlite:///{file}"
    else:
        postgres: Postgres = request.getfixturevalue("postgres")
        urls = postgres.url(), postgres.url()
    engine = sa.create_engine(urls[0])
    table = f"stock_{secrets.token_hex(4)}"
    yield Database(request.param, *urls, table, engine)
    engine.dispose()
