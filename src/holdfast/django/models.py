"""The outbox as a model of Django, with the table that `holdfast outbox run` relays."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.db import models

if TYPE_CHECKING:
    from .typed_bases import IntegerChoices, Model
else:
    from django.db.models import IntegerChoices, Model


class OutboxTask(Model):
    """A task in the outbox that no relay has enqueued, or none can enqueue.

    The table and its columns are those of `holdfast.Outbox`.
    """

    class State(IntegerChoices):
        """What becomes of the row."""

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
