"""The transactional outbox: a task is stored in the transaction that it belongs to."""

from __future__ import annotations

import inspect
from collections.abc import Coroutine, Iterable
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Final, TypeVar, overload

from ..core.guarded_telemetry import guarded
from ..core.telemetry import Telemetry
from ..queues.call import Call, checked_calls
from .table import CHANNEL, NAME, outbox_table
from .values import outbox_values

if TYPE_CHECKING:
    from sqlalchemy import Connection, MetaData, Table
    from sqlalchemy.ext.asyncio import AsyncConnection, AsyncSession
    from sqlalchemy.orm import Session

    from .statements import Statements

R = TypeVar("R")

_ROWS: Final = 1000
"""Rows of one statement. Databases limit its parameters, which are seven for each row: SQLite and
asyncpg to 32,767, PostgreSQL to 65,535."""


class Outbox:
    """A table in your SQL database for tasks that are enqueued once their transaction commits.

    `enqueue` writes a row in your transaction. If the transaction is rolled back, the task never
    runs. If it commits, a relay (`AsyncHoldfast.outbox_relay`, or `holdfast outbox run`) enqueues
    the task, even if the application, the relay, the server or the database are killed meanwhile.
    This is the pattern *transactional outbox* (C. Richardson, Microservices Patterns, chapter 3).

    The databases are PostgreSQL, MySQL 8, MariaDB 10.6 and SQLite, or later versions of them.
    Needs the extra `sql`.

    Args:
        metadata: the table is added to it. Create the table with the others, by
            `metadata.create_all(engine)` or by a migration.
        name: name of the table.
        telemetry: records the enqueued tasks, and gives their trace to them; None: nothing is
            recorded.

    Attributes:
        channel: the channel of PostgreSQL on which `enqueue` notifies the relays.
    """

    channel: ClassVar[str] = CHANNEL

    def __init__(
        self, metadata: MetaData, *, name: str = NAME, telemetry: Telemetry | None = None
    ) -> None:
        self.table: Table = outbox_table(metadata, name)
        self._telemetry = guarded(telemetry)

    def __repr__(self) -> str:
        return f"Outbox({self.table.fullname!r})"

    @cached_property
    def statements(self) -> Statements:
        """Return the SQL statements that relays run on the table."""
        from .statements import Statements

        return Statements(self.table)

    @overload
    def enqueue(self, session: Session | Connection, call: Call[Any]) -> str: ...
    @overload
    def enqueue(
        self, session: AsyncSession | AsyncConnection, call: Call[Any]
    ) -> Coroutine[Any, Any, str]: ...
    def enqueue(self, session: Any, call: Call[Any]) -> Any:
        """Write a task into the outbox, in the transaction of *session*.

        A delay and an expiry of the call count from now, by the clock of the database.

        Args:
            session: a session or connection of SQLAlchemy. With an `AsyncSession` or an
                `AsyncConnection` the result is awaited.
            call: the result of `task.call(…)`.

        Returns:
            The id of the task. `hf.queue(name).handle(task_id)` is its handle.

        Raises:
            PayloadTooLarge: the arguments are over the limit; nothing was written.
            TypeError: an argument is no JSON, or *session* is something else, such as an engine;
                nothing was written.
        """
        row = outbox_values(call, self._telemetry)
        return self._stored(session, [row], row["task_id"])

    @overload
    def enqueue_many(
        self, session: Session | Connection, calls: Iterable[Call[R]]
    ) -> list[str]: ...
    @overload
    def enqueue_many(
        self, session: AsyncSession | AsyncConnection, calls: Iterable[Call[R]]
    ) -> Coroutine[Any, Any, list[str]]: ...
    def enqueue_many(self, session: Any, calls: Iterable[Call[R]]) -> Any:
        """Write many tasks into the outbox, with one statement for each 1,000; see `enqueue`.

        Returns:
            The ids of the tasks, in the order of *calls*.
        """
        rows = [outbox_values(call, self._telemetry) for call in checked_calls(calls)]
        ids = [row["task_id"] for row in rows]
        return self._stored(session, rows, ids)

    def _stored(self, session: Any, rows: list[dict[str, Any]], result: Any) -> Any:
        """Write *rows*, and return *result*; if *session* is async, return a coroutine for both."""
        if not hasattr(session, "execute"):
            raise TypeError(
                "expected a Session, a Connection or an async one of SQLAlchemy, in the transaction"
                f" of the application, got {type(session).__name__}"
            )
        parts = [rows[at : at + _ROWS] for at in range(0, len(rows), _ROWS)]
        statements = [self._storing(session, part) for part in parts]
        if inspect.iscoroutinefunction(session.execute):
            return _executed_async(session, statements, result)
        for statement, options in statements:
            session.execute(statement, **options)
        return result

    def _storing(self, session: Any, rows: list[dict[str, Any]]) -> tuple[Any, dict[str, Any]]:
        """Return the statement that writes *rows*, and on PostgreSQL notifies the relays.

        Return also the options of `execute`: a session with several databases chooses one by the
        statement that writes.
        """
        from sqlalchemy import func, insert, select

        from .database_clock import now_ms

        statement = insert(self.table).values([{**row, "created_ms": now_ms()} for row in rows])
        database, options = session, dict[str, Any]()
        if hasattr(session, "get_bind"):
            options["bind_arguments"] = {"clause": statement}
            database = session.get_bind(clause=statement)
        if database.dialect.name != "postgresql":
            return statement, options
        # The notification is sent when the transaction commits, and not if it is rolled back.
        notifying = select(func.pg_notify(self.channel, "")).add_cte(statement.cte("stored"))
        return notifying, options


async def _executed_async(session: Any, statements: list[Any], result: Any) -> Any:
    for statement, options in statements:
        await session.execute(statement, **options)
    return result
