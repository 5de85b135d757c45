"""A batch: the rows of one queue that a relay enqueues in one step."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from ..errors import DecodeError
from ..queues.enqueue_batch import EnqueueBatch
from .row import must_be_alone, packed_row


@dataclass(slots=True)
class OutboxBatch:
    """Rows of one queue, in order.

    A row keeps the name of its batch. So a batch that may have been sent has the same rows when it
    is sent again, and the same id of the operation: the server applies it once.

    Attributes:
        name: names the batch in the database, and its operation on the server.
        sent: the tasks that are enqueued in one step.
        seqs: the rows of *sent*.
        unreadable: row → why it can never be enqueued.
    """

    name: str
    sent: EnqueueBatch
    seqs: list[int] = field(default_factory=list)
    unreadable: dict[int, str] = field(default_factory=dict)

    @classmethod
    def of(cls, queue: str, rows: Sequence[Any]) -> OutboxBatch:
        """Return the first rows of *queue* that fit into one step.

        Either all of these rows have the same batch name already, or none of them has one. If MySQL
        looks for rows of `email`, it also finds those of `email `: such a row ends the batch, or
        is the first of its own.
        """
        name = rows[0].batch if rows else None
        queue = rows[0].queue if rows else queue
        batch = cls(name or secrets.token_hex(16), EnqueueBatch(queue, 0))
        for row in rows:
            if (row.batch, row.queue) != (name, queue) or not batch._added(row):
                break
        batch.sent.room = len(batch.seqs)
        return batch

    def _added(self, row: Any) -> bool:
        """Add *row*. Return whether the next row may be added as well."""
        try:
            task = packed_row(row, row.now_ms)
        except DecodeError as error:
            self.unreadable[row.seq] = str(error)
            return True
        alone = must_be_alone(row.envelope)
        # A batch that has its name already may have been sent, so it keeps all its rows.
        fits = row.batch is not None or self.sent.fits(task, len(row.envelope))
        if not fits or (alone and self.seqs):
            return False
        self.sent.add(task, len(row.envelope))
        self.seqs.append(row.seq)
        return not alone
