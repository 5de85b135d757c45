"""Create the table of the outbox."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from django.db import migrations, models

if TYPE_CHECKING:
    from ..typed_bases import MigrationBase as Base
else:
    from django.db.migrations import Migration as Base


class Migration(Base):
    """Creates the table as `holdfast.Outbox` describes it."""

    initial = True

    dependencies: Sequence[Any] = ()

    operations: Sequence[Any] = (
        migrations.CreateModel(
            name="OutboxTask",
            fields=[
                ("seq", models.BigAutoField(primary_key=True, serialize=False)),
                ("task_id", models.CharField(max_length=200)),
                ("queue", models.CharField(max_length=512)),
                ("task", models.TextField()),
                ("priority", models.SmallIntegerField()),
                ("wait", models.CharField(max_length=20)),
                ("expires", models.CharField(max_length=20)),
                ("envelope", models.BinaryField()),
                ("created_ms", models.BigIntegerField()),
                ("batch", models.CharField(max_length=32, null=True)),
                (
                    "state",
                    models.SmallIntegerField(
                        choices=[(0, "waiting"), (1, "failed")], db_default=0, default=0
                    ),
                ),
                ("error", models.TextField(null=True)),
            ],
            options={
                "verbose_name": "outbox task",
                "db_table": "holdfast_outbox",
                "ordering": ("seq",),
                "indexes": [
                    models.Index(fields=["state", "queue", "seq"], name="ix_holdfast_outbox_queue")
                ],
            },
        ),
    )
