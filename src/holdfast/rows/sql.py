"""Load rows from a SQL database with SQLAlchemy 2 (extra `sql`). It is imported on first use."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import date
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Final
from uuid import UUID

from .row_ids import RowId
from .source import SourceUnavailable

if TYPE_CHECKING:
    from sqlalchemy import ColumnElement, Engine, Select, Table
    from sqlalchemy.ext.asyncio import AsyncEngine

KEY: Final = "holdfast_key_{}"
"""Label of a key column in a result. It differs from the names of the cached columns."""


class SqlRows:
    """Use a table, or some of its rows and columns, as the source of a row cache.

    One statement selects all rows of a batch: `= ANY(array)` on PostgreSQL, `IN` elsewhere.

    Args:
        engine: engine of SQLAlchemy 2. An `AsyncEngine` works with `AsyncHoldfast` only. Statements
            run outside of transactions and read committed data.
        table: a `Table`, a mapped class, or the name of a table. An `AsyncEngine` does not accept a
            name.
        key: name of the column with the ids, or several names if ids are tuples. The key must be
            unique. Its columns must be whole numbers, texts, UUIDs or dates. In ids, UUIDs and
            dates are texts.
        columns: names of the columns to cache; None: all.
        where: a condition on rows; None: no condition. Rows that do not fulfil it are absent.

    Raises:
        ValueError: There is no such table or column, or a column cannot be a key.
    """

    def __init__(
        self,
        engine: Engine | AsyncEngine,
        table: Table | type[Any] | str,
        *,
        key: str | Sequence[str],
        columns: Iterable[str] | None = None,
        where: ColumnElement[bool] | None = None,
    ) -> None:
        self._engine, self._is_async = _engine(engine)
        self.table: Table = _table(engine, table)
        names = (key,) if isinstance(key, str) else tuple(key)
        self.key: list[Any] = _columns(self.table, names, "key")
        for column in self.key:
            _check_key(self.table, column)
        chosen = [c.name for c in self.table.columns] if columns is None else list(columns)
        wanted = _columns(self.table, chosen, "columns")
        self._names = [column.name for column in wanted]
        self._statement = self._select(wanted, where)

    def __repr__(self) -> str:
        return f"SqlRows({self.table.fullname!r})"

    @property
    def load(self) -> Callable[[Sequence[RowId]], Any]:
        """Return the method `load` of `RowSource`. With an `AsyncEngine` it is async."""
        return self._load_async if self._is_async else self._load

    def id_of(self, values: Sequence[Any]) -> RowId:
        """Return the id of a row from the *values* of its key columns."""
        parts = tuple(map(_id_part, self.key, values))
        return parts[0] if len(self.key) == 1 else parts

    def _load(self, ids: Sequence[RowId]) -> dict[RowId, Any]:
        from sqlalchemy.exc import SQLAlchemyError

        asked, rows = self._bound(ids)
        if asked:
            try:
                with self._engine.connect() as connection:
                    found = connection.execute(self._statement, {"ids": list(asked)}).fetchall()
            except SQLAlchemyError as error:
                raise _classified(error) from error
            self._take(found, asked, rows)
        return rows

    async def _load_async(self, ids: Sequence[RowId]) -> dict[RowId, Any]:
        from sqlalchemy.exc import SQLAlchemyError

        asked, rows = self._bound(ids)
        if asked:
            try:
                async with self._engine.connect() as connection:
                    answer = await connection.execute(self._statement, {"ids": list(asked)})
                    found = answer.fetchall()
            except SQLAlchemyError as error:
                raise _classified(error) from error
            self._take(found, asked, rows)
        return rows

    def _select(self, wanted: Sequence[Any], where: ColumnElement[bool] | None) -> Select[Any]:
        from sqlalchemy import any_, bindparam, select, tuple_
        from sqlalchemy.dialects.postgresql import ARRAY

        labelled = [column.label(KEY.format(i)) for i, column in enumerate(self.key)]
        statement = select(*labelled, *wanted)
        if len(self.key) > 1:
            statement = statement.where(tuple_(*self.key).in_(bindparam("ids", expanding=True)))
        elif self._engine.dialect.name == "postgresql":
            # Use one parameter for any number of ids, so that one prepared statement is enough.
            array = bindparam("ids", type_=ARRAY(self.key[0].type))
            statement = statement.where(self.key[0] == any_(array))
        else:
            statement = statement.where(self.key[0].in_(bindparam("ids", expanding=True)))
        return statement if where is None else statement.where(where)

    def _bound(self, ids: Sequence[RowId]) -> tuple[dict[Any, list[RowId]], dict[RowId, Any]]:
        """Convert *ids* to values of the key columns.

        Returns:
            Value → ids with this value (different texts may be the same UUID); and id → error, for
            each id that cannot be a value of the key.
        """
        asked: dict[Any, list[RowId]] = {}
        rows: dict[RowId, Any] = {}
        for row_id in ids:
            parts = row_id if isinstance(row_id, tuple) else (row_id,)
            try:
                is_tuple, width = isinstance(row_id, tuple), len(self.key)
                if is_tuple is (width == 1) or len(parts) != width:
                    raise TypeError(f"a key of {len(self.key)} columns, not {row_id!r}")  # noqa: TRY301
                pairs = zip(self.key, parts, strict=True)
                bound = tuple(_bound(column, part) for column, part in pairs)
            except (TypeError, ValueError) as error:
                rows[row_id] = error
            else:
                asked.setdefault(bound[0] if len(bound) == 1 else bound, []).append(row_id)
        return asked, rows

    def _take(
        self, found: Iterable[Any], asked: Mapping[Any, list[RowId]], rows: dict[RowId, Any]
    ) -> None:
        """Add the rows of the result *found* to *rows*, under the ids for which they were
        requested."""
        names, width = self._names, len(self.key)
        padded = any(map(_is_padded, self.key))
        for row in found:
            parts = tuple(map(_unpadded, self.key, row)) if padded else tuple(row[:width])
            for row_id in asked.get(parts[0] if width == 1 else parts, ()):
                rows[row_id] = dict(zip(names, row[width:], strict=True))


_FROM_TEXT: Final[Mapping[type, Callable[[str], Any]]] = {UUID: UUID, date: date.fromisoformat}
_AS_THEY_ARE: Final[Mapping[type, type]] = {int: int, Decimal: int, float: int, str: str}


def _python_type(column: Any) -> type | None:
    """Return the Python type of the values of *column*; None if SQLAlchemy does not know it."""
    try:
        found: type = column.type.python_type
    except NotImplementedError:
        return None
    return found


def _check_key(table: Table, column: Any) -> None:
    """Raise ValueError if the values of a key column cannot be ids."""
    kind = _python_type(column)
    if kind is not None and kind not in (*_FROM_TEXT, *_AS_THEY_ARE):
        raise ValueError(
            f"column {column.name!r} of table {table.fullname!r} holds {kind.__name__}: as a key "
            "it must hold whole numbers, texts, UUIDs or dates"
        )


def _bound(column: Any, part: Any) -> Any:
    """Return *part*, a part of an id, as a value of its *column*."""
    kind = _python_type(column)
    if kind is None:
        return part
    if kind in _FROM_TEXT:
        return _FROM_TEXT[kind](str(part))
    wanted = _AS_THEY_ARE[kind]
    if not isinstance(part, wanted):
        given = type(part).__name__
        raise TypeError(f"column {column.name!r} holds {wanted.__name__}, not {given} {part!r}")
    return _unpadded(column, part)


def _id_part(column: Any, value: Any) -> int | str:
    """Return *value*, a value of *column*, as part of an id."""
    if isinstance(value, int | Decimal | float):
        return int(value)
    return str(_unpadded(column, value))


def _is_padded(column: Any) -> bool:
    """Return whether *column* may add blanks to the end of a text."""
    from sqlalchemy import CHAR

    return isinstance(column.type, CHAR)


def _unpadded(column: Any, part: Any) -> Any:
    """Return *part* without trailing blanks if its *column* may have added them."""
    return part.rstrip(" ") if isinstance(part, str) and _is_padded(column) else part


def is_one_of(thing: Any, *names: str) -> bool:
    """Return whether *thing* is an instance of one of these classes of `sqlalchemy.ext.asyncio`.

    Do not import this module: it needs greenlet, which may be missing in blocking programs. A
    program that has such an instance has imported it already.
    """
    module = sys.modules.get("sqlalchemy.ext.asyncio")
    return module is not None and isinstance(thing, tuple(getattr(module, n, ()) for n in names))


def _engine(engine: Any) -> tuple[Any, bool]:
    """Return *engine*, configured to read outside of transactions, and whether it is async."""
    try:
        from sqlalchemy import Engine
        from sqlalchemy.pool import SingletonThreadPool
    except ModuleNotFoundError as error:
        hint = "SQL rows need an extra: install `holdfast[sql]` from where you got Holdfast"
        raise ModuleNotFoundError(hint, name=error.name) from error

    is_async = is_one_of(engine, "AsyncEngine")
    if not isinstance(engine, Engine) and not is_async:
        raise TypeError(f"expected an engine of SQLAlchemy, got {type(engine).__name__}")
    if isinstance(engine.pool, SingletonThreadPool):
        raise ValueError(  # noqa: TRY004 (it is an engine)
            "this engine has a separate database in memory for each thread: use a file, or create "
            "it with poolclass=StaticPool and connect_args={'check_same_thread': False}"
        )
    if engine.dialect.name == "sqlite":  # a SELECT begins no transaction in SQLite
        return engine, is_async
    return engine.execution_options(isolation_level="AUTOCOMMIT"), is_async


def _table(engine: Any, table: Any) -> Table:
    from sqlalchemy import Engine, MetaData, Table
    from sqlalchemy.exc import NoSuchTableError

    found = getattr(table, "__table__", table)
    if isinstance(found, Table):
        return found
    if not isinstance(table, str):
        raise TypeError(f"expected a Table, a mapped class or a name, got {table!r}")
    if not isinstance(engine, Engine):
        raise TypeError(f"with an AsyncEngine give a Table, not the name {table!r}")
    schema, _, name = table.rpartition(".")
    try:
        return Table(name, MetaData(), schema=schema or None, autoload_with=engine)
    except NoSuchTableError:
        raise ValueError(f"there is no table {table!r}") from None


def _columns(table: Table, names: Sequence[str], what: str) -> list[Any]:
    if not names:
        raise ValueError(f"{what} must name a column of table {table.fullname!r}")
    if unknown := [name for name in names if name not in table.columns]:
        known = ", ".join(column.name for column in table.columns)
        raise ValueError(
            f"table {table.fullname!r} has no column {unknown[0]!r} ({what}); it has {known}"
        )
    return [table.columns[name] for name in names]


def _classified(error: Exception) -> Exception:
    """Return *error*, or `SourceUnavailable` if the error concerns all rows."""
    from sqlalchemy import exc

    # Errors that concern one row only, such as DataError for a wrong value, are not in this list.
    of_all = (exc.OperationalError, exc.InterfaceError, exc.ProgrammingError, exc.TimeoutError)
    if isinstance(error, of_all) or getattr(error, "connection_invalidated", False):
        return SourceUnavailable(str(getattr(error, "orig", None) or error))
    return error
