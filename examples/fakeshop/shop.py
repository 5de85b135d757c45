"""The shop: its table, its cache, and how an item is bought. An app would take this from here."""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa
from sqlalchemy.orm import DeclarativeBase, Mapped, Session, mapped_column, sessionmaker

from holdfast import CommitHook, SqlRows

ITEMS = 50
EACH = 2_000
EVERY_S = 0.5
"""So old a row may be, give or take a tenth."""


class Base(DeclarativeBase):
    """Of the tables."""


class Stock(Base):
    """What is left of an item."""

    __tablename__ = "fakeshop_flash_sale"
    id: Mapped[int] = mapped_column(primary_key=True)
    name: Mapped[str] = mapped_column(sa.String(60))
    left: Mapped[int]


class Sold(Base):
    """The ledger: what was sold, in the same transaction in which it left the shelf.

    It is an outbox as well: `is_mailed` is set after the mail to the buyer was enqueued. A mail
    under the name of its sale is sent once, however often it is handed over.
    """

    __tablename__ = "fakeshop_sold"
    id: Mapped[int] = mapped_column(primary_key=True)
    item: Mapped[int]
    is_mailed: Mapped[bool] = mapped_column(default=False)


def open_shop(engine: sa.Engine) -> None:
    """Put all items on the shelf."""
    Base.metadata.drop_all(engine)
    Base.metadata.create_all(engine)
    with Session(engine) as session, session.begin():
        session.add_all(Stock(id=n, name=f"item {n}", left=EACH) for n in range(ITEMS))


def left_in(engine: sa.Engine) -> int:
    """Return how much is left of all items together."""
    with engine.connect() as connection:
        return int(connection.execute(sa.select(sa.func.sum(Stock.left))).scalar_one())


def sold_in(engine: sa.Engine) -> list[int]:
    """Return the numbers of all sales."""
    with engine.connect() as connection:
        return list(connection.execute(sa.select(Sold.id)).scalars())


def without_mail(engine: sa.Engine, limit: int) -> list[Sold]:
    """Return sales that have no mail yet, as far as is known."""
    with Session(engine, expire_on_commit=False) as session:
        wanted = sa.select(Sold).where(~Sold.is_mailed).order_by(Sold.id).limit(limit)
        return list(session.execute(wanted).scalars())


def mark_mailed(engine: sa.Engine, sales: list[Sold]) -> None:
    """Record that these sales have their mails."""
    with engine.begin() as connection:
        ids = [sale.id for sale in sales]
        connection.execute(sa.update(Sold).where(Sold.id.in_(ids)).values(is_mailed=True))


def cache_of(hf: Any, engine: sa.Engine) -> Any:
    """Return the row cache of a client of either half."""
    return hf.row_cache("flash sale", source=SqlRows(engine, Stock, key="id"))


def buy(sessions: sessionmaker[Session], hook: CommitHook | None, item: int) -> bool:
    """Buy one of an item, if there is one left: the database decides, whatever a page showed."""
    with sessions.begin() as session:
        taken = (
            sa.update(Stock)
            .where(Stock.id == item, Stock.left > 0)
            .values(left=Stock.left - 1)
            .returning(Stock.left)
        )
        left = session.execute(taken).scalar_one_or_none()
        if left == 0 and hook is not None:
            hook.touch(session, item)  # sold-out items are refreshed at once, the rest can wait
        if left is not None:
            session.add(Sold(item=item))
        return left is not None
