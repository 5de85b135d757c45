"""The tables, and the engine of this process."""

from __future__ import annotations

import os

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import async_sessionmaker, create_async_engine
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column

from holdfast import Outbox

URL = sa.make_url(os.environ.get("HOLDFAST_DATABASE", "sqlite:///orders.db"))
"""The database as `holdfast outbox run` uses it."""

DRIVERS = {"sqlite": "sqlite+aiosqlite", "postgresql": "postgresql+asyncpg"}


class Base(DeclarativeBase):
    """The tables of the service."""


class Order(Base):
    """An order of a user, and the task that writes its invoice."""

    __tablename__ = "orders"
    id: Mapped[int] = mapped_column(primary_key=True)
    customer: Mapped[str]
    item: Mapped[str]
    task_id: Mapped[str] = mapped_column(default="")
    invoice: Mapped[str] = mapped_column(default="")


outbox = Outbox(Base.metadata)

engine = create_async_engine(URL.set(drivername=DRIVERS[URL.get_backend_name()]))
sessions = async_sessionmaker(engine, expire_on_commit=False)


async def create_tables() -> None:
    """Create the tables that are missing. In production, a migration does that."""
    async with engine.begin() as connection:
        await connection.run_sync(Base.metadata.create_all)
