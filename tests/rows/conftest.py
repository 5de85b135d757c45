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
    """A PostgreSQL, shared; tests take tables of their own."""
    with Postgres() as postgres:
        yield postgres


@dataclass(frozen=True)
class Database:
    """A database, and the name of a table that is the test's own.

    Attributes:
        kind: `sqlite` or `postgresql`.
        url: for a blocking engine.
        async_url: for an async one.
        table: the name.
        engine: a blocking engine.
    """

    kind: str
    url: str
    async_url: str
    table: str
    engine: sa.Engine


@pytest.fixture(params=["sqlite", "postgresql"])
def database(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Database]:
    """Each kind of database."""
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
