# Generated from _async/rows.py by tools/unasync.py: edit that, then run `make sync`.
"""Read and change the rows of an outbox."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Final

from ...core.concurrency._sync.user_calls import UserFunction
from ..batch import OutboxBatch
from ..database import can_listen, checked_engine, database_errors, first_line
from ..outbox import Outbox
from ..row import OutboxRow, OutboxStatus
from ..sent import Sent
from ..table import FAILED, WAITING

IDLE_IN_TRANSACTION: Final = "SET LOCAL idle_in_transaction_session_timeout = '60s'"
"""Lets PostgreSQL end the transaction of a relay that does nothing in it for a minute, for example
because its process is suspended. This unlocks the rows."""


class OutboxRows:
    """Read and change the rows of *outbox* with *engine*, an engine of SQLAlchemy."""

    def __init__(self, outbox: Outbox, engine: Any) -> None:
        self._engine = checked_engine(engine, "Engine")
        self.dialect: str = engine.dialect.name
        self.locks_database: bool = self.dialect == "sqlite"
        self.listens = can_listen(engine)
        self._table = outbox.table
        self._statements = outbox.statements

    def queues(self) -> list[str]:
        """Return the queues with waiting rows, in the order of their names."""
        statements, found = self._statements, list[str]()
        with self._engine.connect() as connection:
            statement, values = statements.first_queue, dict[str, str]()
            while (queue := connection.scalar(statement, values)) is not None:
                found.append(queue)
                statement, values = statements.next_queue, {"after": queue}
        return found

    def send_batch(self, queue: str, most: int, send: UserFunction[OutboxBatch, Sent]) -> Sent:
        """Send the next batch of *queue*, and record the outcome.

        The name of a new batch is committed before the batch is sent, so that after a crash the
        same rows are sent again under the same name. While a batch is sent, its first row is
        locked, so that no other relay sends rows of this queue.

        Args:
            queue: the queue.
            most: how many rows a new batch has at most.
            send: sends the batch. If it raises an exception, the rows stay in the outbox as a
                batch with the same name.
        """
        with self._transaction() as connection:
            if not self._locks_first(connection, queue):
                return Sent.nothing()
            batch, is_new = self._read_batch(connection, queue, most)
            if not is_new:
                return self._send(connection, batch, send)
            self._name(connection, batch)
        if not batch.seqs:
            return Sent.nothing()
        with self._transaction() as connection:
            if self._locks_first(connection, queue, batch.name):
                return self._send(connection, batch, send)
        return Sent.nothing()

    def check_table(self) -> None:
        """Raise ValueError if the database answers, but the table of the outbox cannot be read."""
        from sqlalchemy import literal, select
        from sqlalchemy.exc import DBAPIError

        try:
            with self._engine.connect() as connection:
                connection.execute(select(literal(1)))
        except database_errors():
            return  # the database does not answer
        try:
            with self._engine.connect() as connection:
                connection.execute(select(self._table).limit(0))
        except DBAPIError as error:
            raise ValueError(
                f"the table {self._table.fullname!r} of the outbox cannot be read "
                f"({first_line(error)}): create it, such as by metadata.create_all(engine)"
            ) from error
        except database_errors():
            return

    def status(self) -> OutboxStatus:
        """Return the status of the outbox."""
        statements = self._statements
        with self._engine.connect() as connection:
            waiting = connection.scalar(statements.count, {"of": WAITING})
            failed = connection.scalar(statements.count, {"of": FAILED})
            oldest_ms = connection.scalar(statements.oldest)
        return OutboxStatus.of(waiting, failed, oldest_ms)

    def listed(self, state: int, limit: int) -> list[OutboxRow]:
        """Return rows in this *state*, the oldest first."""
        values = {"of": state, "most": limit}
        with self._engine.connect() as connection:
            rows = (connection.execute(self._statements.listed, values)).fetchall()
        return [OutboxRow.of(row) for row in rows]

    def retry(self, task_ids: Sequence[str]) -> int:
        """Let failed rows wait again. Return how many."""
        return self._change(self._statements.retry, task_ids)

    def discard(self, task_ids: Sequence[str]) -> int:
        """Delete failed rows. Return how many."""
        return self._change(self._statements.discard, task_ids)

    def _change(self, statement: Any, task_ids: Sequence[str]) -> int:
        with self._engine.begin() as connection:
            changed: int = (connection.execute(statement, {"ids": task_ids})).rowcount
        return changed

    @contextmanager
    def _transaction(self) -> Iterator[Any]:
        with self._engine.begin() as connection:
            if self.dialect == "postgresql":
                connection.exec_driver_sql(IDLE_IN_TRANSACTION)
            elif self.locks_database:  # SQLite cannot lock rows
                connection.execute(self._statements.take_write_lock)
            yield connection

    def _locks_first(self, connection: Any, queue: str, name: str | None = None) -> bool:
        """Lock the first row of *queue*. Return False if another relay has locked it.

        Args:
            connection: in a transaction.
            queue: the queue.
            name: batch to which the row must belong; return False if it belongs to another one, or
                to none. None: accept any row.
        """
        statements, values = self._statements, {"of": queue}
        locked = (connection.execute(statements.lock_first, values)).first()
        if locked is None or (name is not None and name != locked.batch):
            return False
        first: int | None = connection.scalar(statements.first, values)
        return first is not None and first == locked.seq

    def _read_batch(self, connection: Any, queue: str, most: int) -> tuple[OutboxBatch, bool]:
        """Return the batch of the first row of *queue*, and whether it is a new one."""
        statements = self._statements
        found = connection.execute(statements.rows, {"of": queue, "most": most})
        rows = found.fetchall()
        if not rows or rows[0].batch is None:
            return OutboxBatch.of(queue, rows), True
        named = connection.execute(statements.batch, {"of": queue, "named": rows[0].batch})
        return OutboxBatch.of(queue, named.fetchall()), False

    def _name(self, connection: Any, batch: OutboxBatch) -> None:
        """Store the name of a new *batch*, and set unreadable rows aside."""
        statements = self._statements
        for seq, why in batch.unreadable.items():
            connection.execute(statements.fail, {"seqs": [seq], "why": why})
        if batch.seqs:
            values = {"seqs": batch.seqs, "named": batch.name}
            connection.execute(statements.name_batch, values)

    def _send(
        self, connection: Any, batch: OutboxBatch, send: UserFunction[OutboxBatch, Sent]
    ) -> Sent:
        statements, chosen = self._statements, {"seqs": batch.seqs}
        sent = send(batch)
        if sent.seqs:
            enqueued = {"seqs": sent.seqs, "named": batch.name}
            connection.execute(statements.delete, enqueued)
        if sent.refused:
            connection.execute(statements.fail, {**chosen, "why": sent.refused})
        elif sent.is_full:  # dissolve the batch, because a smaller one may fit into the queue
            connection.execute(statements.name_batch, {**chosen, "named": None})
        return sent
