"""The table of an outbox, in PostgreSQL, MySQL, MariaDB and SQLite."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from ..queues.call import MAX_TASK_ID_BYTES

if TYPE_CHECKING:
    from sqlalchemy import MetaData, Table

NAME: Final = "holdfast_outbox"

WAITING: Final = 0
FAILED: Final = 1
"""Values of the column `state`."""

CHANNEL: Final = "holdfast_outbox"
"""The channel on which PostgreSQL notifies the relays when a transaction commits."""

_QUEUE_CHARACTERS: Final = 512
_ENVELOPE_BYTES: Final = (1 << 24) - 1
"""Size of the column, which makes MySQL use MEDIUMBLOB. The limit of an envelope is lower."""


def sqlalchemy() -> Any:
    """Return the module `sqlalchemy`, or raise an error that names the missing extra."""
    try:
        import sqlalchemy as module
    except ModuleNotFoundError as error:
        hint = "an outbox needs an extra: install `holdfast[sql]` from where you got Holdfast"
        raise ModuleNotFoundError(hint, name=error.name) from error
    return module


def outbox_table(metadata: MetaData, name: str) -> Table:
    """Return the table *name* in *metadata*, with these columns:

    - `seq`: the order of the rows.
    - `task_id`, `queue`, `task`, `priority`, `wait`, `expires`, `envelope`: the task, as
      `enqueue_batch.packed` makes it.
    - `created_ms`: when the row was written, in ms since 1970 by the clock of the database.
    - `batch`: names the rows that are enqueued in one step; NULL until they are first sent.
    - `state`: 0 for waiting, 1 for failed.
    - `error`: why it failed.
    """
    sa = sqlalchemy()
    from sqlalchemy.dialects.mysql import VARCHAR

    # MySQL compares texts without their case, unless the collation is binary.
    def text(length: int) -> Any:
        exact = VARCHAR(length, charset="utf8mb4", collation="utf8mb4_bin")
        return sa.String(length).with_variant(exact, "mysql", "mariadb")

    serial = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
    table: Table = sa.Table(
        name,
        metadata,
        sa.Column("seq", serial, primary_key=True, autoincrement=True),
        sa.Column("task_id", text(MAX_TASK_ID_BYTES), nullable=False),
        sa.Column("queue", text(_QUEUE_CHARACTERS), nullable=False),
        sa.Column("task", sa.Text(), nullable=False),
        sa.Column("priority", sa.SmallInteger(), nullable=False),
        sa.Column("wait", sa.String(20), nullable=False),
        sa.Column("expires", sa.String(20), nullable=False),
        sa.Column("envelope", sa.LargeBinary(_ENVELOPE_BYTES), nullable=False),
        sa.Column("created_ms", sa.BigInteger(), nullable=False),
        sa.Column("batch", sa.String(32)),
        sa.Column("state", sa.SmallInteger(), nullable=False, server_default=sa.text("0")),
        sa.Column("error", sa.Text()),
        sa.Index(f"ix_{name}_queue", "state", "queue", "seq"),
        sqlite_autoincrement=True,  # otherwise a new row may get the number of a deleted one
    )
    return table
