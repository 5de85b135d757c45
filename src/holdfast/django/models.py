"""Define the model of the outbox. `holdfast outbox run` relays the tasks in its table."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.db import models

if TYPE_CHECKING:
    from .typed_bases import IntegerChoices, Model
else:
    from django.db.models import IntegerChoices, Model


class OutboxTask(Model):
    """Represents a task in the outbox that no relay has enqueued yet, or that cannot be enqueued.

    The table and its columns are those of `holdfast.Outbox`.
    """

    class State(IntegerChoices):
        """Says whether a relay will enqueue the task, or could not because of `error`."""

        WAITING = 0, "waiting"
        FAILED = 1, "failed"

    seq: Any = models.BigAutoField(primary_key=True)
    task_id: Any = models.CharField(max_length=200)
    queue: Any = models.CharField(max_length=512)
    task: Any = models.TextField()
    priority: Any = models.SmallIntegerField()
    wait: Any = models.CharField(max_length=20)
    expires: Any = models.CharField(max_length=20)
    envelope: Any = models.BinaryField()
    created_ms: Any = models.BigIntegerField()
    batch: Any = models.CharField(max_length=32, null=True)
    state: Any = models.SmallIntegerField(
        choices=State.choices, default=State.WAITING, db_default=State.WAITING
    )
    error: Any = models.TextField(null=True)

    class Meta:
        db_table = "holdfast_outbox"
        ordering: tuple[str, ...] = ("seq",)
        indexes: tuple[Any, ...] = (
            models.Index(fields=("state", "queue", "seq"), name="ix_holdfast_outbox_queue"),
        )
        verbose_name = "outbox task"

    def __str__(self) -> str:
        return f"{self.task} {self.task_id}"
