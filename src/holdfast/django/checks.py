"""Define the system checks of the application. `HoldfastBackend.check` checks the options."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from django.core import checks
from django.db import connections, router

from .database_clock import SUPPORTED
from .models import OutboxTask


@checks.register
def check_outbox_database(**_: Any) -> list[checks.CheckMessage]:
    """Warn if the database of the outbox is not supported. Do not connect to the database."""
    return list(_messages())


def _messages() -> Iterator[checks.CheckMessage]:
    alias = router.db_for_write(OutboxTask)
    vendor = connections[alias].vendor
    if vendor not in SUPPORTED:
        yield checks.Warning(
            f"The outbox of Holdfast cannot be in database {alias!r}, which is {vendor}.",
            hint=f"outbox_enqueue needs {' or '.join(SUPPORTED)}. All other parts work.",
            id="holdfast.W001",
        )
