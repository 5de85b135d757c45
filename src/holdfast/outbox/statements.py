"""The SQL statements of a relay. This module is imported when the first relay is made."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sqlalchemy import bindparam, delete, func, literal, select, update

from .database_clock import now_ms
from .table import FAILED, WAITING

if TYPE_CHECKING:
    from sqlalchemy import Delete, Select, Table, Update


class Statements:
    """The statements on the *table* of an outbox."""

    def __init__(self, table: Table) -> None:
        columns = table.c
        waits = columns.state == WAITING
        of_queue = waits & (columns.queue == bindparam("of"))
        ids = columns.task_id.in_(bindparam("ids", expanding=True))
        chosen = columns.seq.in_(bindparam("seqs", expanding=True))

        self.first_queue: Select[Any] = (
            select(columns.queue).where(waits).order_by(columns.queue).limit(1)
        )
        self.next_queue: Select[Any] = self.first_queue.where(columns.queue > bindparam("after"))
        """Selects the next queue with waiting rows, in alphabetical order after the queue `after`.
        Each such statement needs one look-up in the index."""
        self.first: Select[Any] = select(func.min(columns.seq)).where(of_queue)
        self.lock_first: Select[Any] = (
            select(columns.seq, columns.batch)
            .where(of_queue)
            .order_by(columns.seq)
            .limit(1)
            .with_for_update(skip_locked=True)
        )
        """Selects and locks the first row of a queue that no other relay has locked."""
        self.rows: Any = (
            select(table, now_ms().label("now_ms"))
            .where(of_queue)
            .order_by(columns.seq)
            .limit(bindparam("most"))
        )
        self.batch: Select[Any] = (
            select(table, now_ms().label("now_ms"))
            .where(of_queue, columns.batch == bindparam("named"))
            .order_by(columns.seq)
        )
        self.name_batch: Update = update(table).where(chosen).values(batch=bindparam("named"))
        self.fail: Update = update(table).where(chosen).values(state=FAILED, error=bindparam("why"))
        self.delete: Delete = delete(table).where(chosen, columns.batch == bindparam("named"))
        self.take_write_lock: Update = (
            update(table).where(literal(1) == literal(0)).values(state=WAITING)
        )
        """Changes no row. On SQLite it gives the write lock of the database to the transaction."""
        self.count: Select[int] = (
            select(func.count()).select_from(table).where(columns.state == bindparam("of"))
        )
        self.oldest: Select[Any] = select(func.min(columns.created_ms)).where(waits)
        self.listed: Select[Any] = (
            select(table)
            .where(columns.state == bindparam("of"))
            .order_by(columns.seq)
            .limit(bindparam("most"))
        )
        failed = columns.state == FAILED
        self.retry: Update = (
            update(table).where(failed, ids).values(state=WAITING, error=None, batch=None)
        )
        self.discard: Delete = delete(table).where(failed, ids)
