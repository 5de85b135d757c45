"""The outbox as a model of Django, with the table that `holdfast outbox run` relays."""

from __future__ import annotations

from django.db import models


class OutboxTask(models.Model):
    """A task in the outbox that no relay has enqueued, or none can enqueue.

    The table and its columns are those of `holdfast.Outbox`.
    """

    class State(models.IntegerChoices):
        """What becomes of the row."""

        WAITING = 0, "waiting"
        FAILED = 1, "failed"

    seq = models.BigAutoField(primary_key=True)
    task_id = models.CharField(max_length=200)
    queue = models.CharField(max_length=512)
    task = models.TextField()
    priority = models.SmallIntegerField()
    wait = models.CharField(max_length=20)
    expires = models.CharField(max_length=20)
    envelope = models.BinaryField()
    created_ms = models.BigIntegerField()
    batch = models.CharField(max_length=32, null=True)
    state = models.SmallIntegerField(
        choices=State.choices, default=State.WAITING, db_default=State.WAITING
    )
    error = models.TextField(null=True)

    class Meta:
        db_table = "holdfast_outbox"
        ordering = ("seq",)
        indexes = (models.Index(fields=("state", "queue", "seq"), name="ix_holdfast_outbox_queue"),)
        verbose_name = "outbox task"

    def __str__(self) -> str:
        return f"{self.task} {self.task_id}"
