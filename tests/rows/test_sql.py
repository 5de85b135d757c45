"""Rows of SQL databases."""

import secrets
from collections.abc import Iterator
from datetime import date
from decimal import Decimal
from typing import Any
from uuid import UUID

import pytest
import sqlalchemy as sa
from sqlalchemy.ext.asyncio import create_async_engine
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column

from faults.servers import Server
from holdfast import AsyncHoldfast, Holdfast, LoadFailed, SqlRows
from rows.conftest import Database


@pytest.fixture
def hf(standalone: Server) -> Iterator[Holdfast]:
    with Holdfast.from_url(standalone.url, namespace=secrets.token_hex(4)) as hf:
        yield hf


@pytest.fixture
def stock(database: Database) -> sa.Table:
    table = sa.Table(
        database.table,
        sa.MetaData(),
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("shop", sa.String(20)),
        sa.Column("n", sa.Integer),
        sa.Column("price", sa.Numeric(10, 2)),
        sa.Column("day", sa.Date),
        sa.Column("picture", sa.LargeBinary),
        sa.Column("key", sa.Uuid),
    )
    table.create(database.engine)
    rows = [
        {
            "id": n,
            "shop": f"shop {n % 3}",
            "n": n // 3,
            "price": Decimal(n) / 4,
            "day": date(2026, 1, 1),
            "picture": b"\xff",
            "key": UUID(int=n),
        }
        for n in range(100)
    ]
    with database.engine.begin() as connection:
        connection.execute(sa.insert(table), rows)
    return table


@pytest.fixture
def statements(database: Database) -> list[str]:
    found: list[str] = []

    def note(conn: Any, cursor: Any, statement: str, *_: Any) -> None:
        if statement.lstrip().startswith("SELECT") and database.table in statement:
            found.append(statement)

    sa.event.listen(database.engine, "before_cursor_execute", note)
    return found


def test_rows_of_a_table(
    hf: Holdfast, database: Database, stock: sa.Table, statements: list[str]
) -> None:
    cache = hf.row_cache("stock", source=SqlRows(database.engine, stock, key="id"))
    rows = cache.get_many([*range(100), 1000])
    assert rows[7].value == {
        "id": 7,
        "shop": "shop 1",
        "n": 2,
        "price": "1.75",
        "day": "2026-01-01",
        "picture": "/w==",
        "key": "00000000-0000-0000-0000-000000000007",
    }
    assert rows[1000].state == "absent"
    assert len(statements) == 1
    cache.schedule_many(dict.fromkeys(range(100), 1000))
    report = cache.refresh_due()
    assert (report.selected, report.failed) == (100, 0)
    assert len(statements) == 2
    assert ("= ANY" in statements[0]) is (database.kind == "postgresql")


@pytest.mark.parametrize("half", ["blocking", "threads", "async"])
async def test_engines_of_both_kinds(
    standalone: Server, database: Database, stock: sa.Table, half: str
) -> None:
    """The asyncio half takes both; the blocking one only blocking ones."""
    namespace = secrets.token_hex(4)
    if half == "blocking":
        with Holdfast.from_url(standalone.url, namespace=namespace) as hf:
            cache = hf.row_cache("stock", source=SqlRows(database.engine, stock, key="id"))
            assert cache.get(8).value["price"] == "2.00"
            engine = create_async_engine(database.async_url)
            with pytest.raises(TypeError, match="must not be async for Holdfast; got SqlRows"):
                hf.row_cache("other", source=SqlRows(engine, stock, key="id"))
            await engine.dispose()
        return
    engine = create_async_engine(database.async_url)
    given: Any = engine if half == "async" else database.engine
    async with AsyncHoldfast.from_url(standalone.url, namespace=namespace) as hf:
        cache = hf.row_cache("stock", source=SqlRows(given, stock, key="id"))
        assert (await cache.get(8)).value["price"] == "2.00"
        await cache.schedule(9, every=100)
        assert (await cache.refresh_due()).stored == 1
    await engine.dispose()


def test_keys_of_several_columns(
    hf: Holdfast, database: Database, stock: sa.Table, statements: list[str]
) -> None:
    source = SqlRows(database.engine, stock, key=["shop", "n"], columns=["id"])
    cache = hf.row_cache("stock", source=source)
    rows = cache.get_many([("shop 1", 2), ("shop 0", 0), ("shop 9", 9)])
    assert [row.value for row in rows.values()] == [{"id": 7}, {"id": 0}, None]
    assert len(statements) == 1
    with pytest.raises(LoadFailed, match="a key of 2 columns, not 'shop 1'"):
        cache.get("shop 1")
    for wrong in (("shop 1",), ("shop 1", 2, 3)):
        with pytest.raises(LoadFailed, match="a key of 2 columns, not"):
            cache.get(wrong)


def test_some_columns_of_some_rows(hf: Holdfast, database: Database, stock: sa.Table) -> None:
    """Rows that do not fulfil the condition are absent."""
    source = SqlRows(
        database.engine, stock, key="id", columns=["n"], where=stock.c.shop == "shop 1"
    )
    cache = hf.row_cache("stock", source=source)
    assert cache.get(7).value == {"n": 2}
    assert cache.get(8).state == "absent"


def test_keys_that_are_uuids(hf: Holdfast, database: Database, stock: sa.Table) -> None:
    cache = hf.row_cache("stock", source=SqlRows(database.engine, stock, key="key", columns=["id"]))
    assert cache.get(str(UUID(int=171 - 100))).value == {"id": 71}
    assert cache.get("00000000-0000-0000-0000-00000000002A").value == {"id": 42}
    with pytest.raises(LoadFailed, match="badly formed"):
        cache.get("42")


def test_one_row_by_two_ids(hf: Holdfast, database: Database, stock: sa.Table) -> None:
    cache = hf.row_cache("stock", source=SqlRows(database.engine, stock, key="key", columns=["id"]))
    ids = ["00000000-0000-0000-0000-00000000002A", "00000000-0000-0000-0000-00000000002a"]
    assert [row.value for row in cache.get_many(ids).values()] == [{"id": 42}] * 2


@pytest.mark.parametrize(
    ("kind", "value", "row_id"),
    [
        (sa.Date(), date(2026, 1, 2), "2026-01-02"),
        (sa.CHAR(5), "eu", "eu"),
        (sa.CHAR(5), "eu", "eu  "),
        (sa.Numeric(10, 0), Decimal(42), 42),
        (sa.Float(), 42.0, 42),
    ],
)
@pytest.mark.parametrize("columns", [["k"], ["k", "n"]])
def test_keys_of_other_types(
    hf: Holdfast, database: Database, kind: Any, value: Any, row_id: Any, columns: list[str]
) -> None:
    table = sa.Table(
        database.table, sa.MetaData(), sa.Column("k", kind), sa.Column("n", sa.Integer)
    )
    table.create(database.engine)
    with database.engine.begin() as connection:
        connection.execute(sa.insert(table).values(k=value, n=7))
        stored = connection.execute(sa.select(table.c.k)).scalar_one()
    source = SqlRows(database.engine, table, key=columns, columns=["n"])
    whole: Any = (row_id, 7) if columns[1:] else row_id
    assert hf.row_cache("stock", source=source).get(whole).value == {"n": 7}
    plain = row_id.strip() if isinstance(row_id, str) else row_id
    assert source.id_of([stored, 7][: len(columns)]) == ((plain, 7) if columns[1:] else plain)


@pytest.mark.parametrize("kind", [sa.DateTime(), sa.LargeBinary(), sa.Boolean(), sa.Time()])
def test_keys_that_ids_cannot_be_of(database: Database, kind: Any) -> None:
    table = sa.Table("t", sa.MetaData(), sa.Column("k", kind), sa.Column("n", sa.Integer))
    with pytest.raises(ValueError, match=r"column 'k' of table 't' holds .*: as a key it must"):
        SqlRows(database.engine, table, key=["n", "k"])


def test_an_id_of_the_wrong_type(hf: Holdfast, database: Database, stock: sa.Table) -> None:
    cache = hf.row_cache("stock", source=SqlRows(database.engine, stock, key="id"))
    with pytest.raises(LoadFailed, match="column 'id' holds int, not str '7'") as caught:
        cache.get_many([6, "7", 8])
    assert set(caught.value.rows) == {6, 8}
    with pytest.raises(LoadFailed, match="a key of 1 columns"):
        cache.get((7,))
    cache.schedule_many({6: 100, "7": 100, 2**62: 100})
    report = cache.refresh_due()
    assert report.source_error == ""
    assert report.stored + report.unchanged + report.failed == 3
    assert cache.get(6).state == "fresh"


def test_a_table_by_its_name(database: Database, stock: sa.Table) -> None:
    source = SqlRows(database.engine, stock.name, key="id", columns=["price"])
    assert source.load([8]) == {8: {"price": Decimal(2)}}
    assert repr(source) == f"SqlRows({stock.name!r})"
    with pytest.raises(ValueError, match="there is no table 'nowhere'"):
        SqlRows(database.engine, "nowhere", key="id")
    for options in ({"key": "nr"}, {"key": "id", "columns": ["nr"]}, {"key": ["id", "nr"]}):
        with pytest.raises(ValueError, match="has no column 'nr'"):
            SqlRows(database.engine, stock, **options)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="key must name a column"):
        SqlRows(database.engine, stock, key=())
    with pytest.raises(TypeError, match="give a Table, not the name"):
        SqlRows(create_async_engine(database.async_url), "stock", key="id")


def test_what_is_no_engine_and_no_table(database: Database, stock: sa.Table) -> None:
    with pytest.raises(TypeError, match="expected an engine of SQLAlchemy, got str"):
        SqlRows(database.url, stock, key="id")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="expected a Table, a mapped class or a name"):
        SqlRows(database.engine, 7, key="id")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="a separate database in memory for each thread"):
        SqlRows(sa.create_engine("sqlite://"), stock, key="id")


def test_a_mapped_class(hf: Holdfast, database: Database, stock: sa.Table) -> None:
    class Base(DeclarativeBase):
        pass

    class Stock(Base):
        __tablename__ = database.table
        id: Mapped[int] = mapped_column(primary_key=True)
        n: Mapped[int]

    cache = hf.row_cache("stock", source=SqlRows(database.engine, Stock, key="id"))
    assert cache.get(9).value == {"id": 9, "n": 3}


def test_a_row_that_is_deleted(hf: Holdfast, database: Database, stock: sa.Table) -> None:
    cache = hf.row_cache("stock", source=SqlRows(database.engine, stock, key="id", columns=["n"]))
    cache.schedule(7, every=1000)
    assert cache.refresh_due().stored == 1
    with database.engine.begin() as connection:
        connection.execute(sa.delete(stock).where(stock.c.id == 7))
    assert cache.get(7).value == {"n": 2}
    cache.invalidate(7)
    assert cache.refresh_due().stored == 1
    assert cache.get(7).state == "absent"
    with database.engine.begin() as connection:
        connection.execute(sa.insert(stock).values(id=7, n=70))
    cache.invalidate(7)
    assert cache.get(7).value == {"n": 70}


def test_a_column_that_is_dropped(hf: Holdfast, database: Database, stock: sa.Table) -> None:
    cache = hf.row_cache("stock", source=SqlRows(database.engine, stock, key="id"))
    cache.schedule(7, every=1000)
    cache.refresh_due()
    with database.engine.begin() as connection:
        connection.execute(sa.text(f"ALTER TABLE {stock.name} DROP COLUMN picture"))
    row = cache.get(7, max_age=0)
    assert row.value["n"] == 2
    with pytest.raises(LoadFailed, match="picture"):
        cache.get(8)
    cache.schedule(9, every=1000)
    assert "picture" in cache.refresh_due().source_error


def test_a_value_that_cannot_be_read(hf: Holdfast, database: Database, stock: sa.Table) -> None:
    if database.kind == "postgresql":
        pytest.skip("PostgreSQL lets no such value in")
    with database.engine.begin() as connection:
        connection.execute(sa.text(f"UPDATE {stock.name} SET day = 'tomorrow' WHERE id = 42"))
    cache = hf.row_cache("stock", source=SqlRows(database.engine, stock, key="id"))
    cache.schedule_many(dict.fromkeys(range(100), 1000))
    report = cache.refresh_due()
    assert (report.stored, report.failed, report.source_error) == (99, 1, "")
    assert "tomorrow" in cache.explain(42).error
