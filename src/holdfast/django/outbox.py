"""Write tasks into the transactional outbox, in the current transaction of Django."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from django.db import NotSupportedError, connections, router

from .. import Call, Outbox, outbox_values
from .calls import identified
from .database_clock import SUPPORTED, NowMs
from .models import OutboxTask
from .stored_task import ResultId


def outbox_enqueue(call: Call[Any], *, using: str | None = None) -> str:
    """Write *call* into the outbox, in the current transaction.

    If the transaction commits, a relay (`holdfast outbox run`) enqueues the task, even if the
    application, the relay, the server or the database are killed meanwhile. If it is rolled back,
    the task never runs. Without a transaction the row commits at once.

    Args:
        call: the result of `task_call`, or of `task.call(…)` of a `TaskRegistry`. Its delay and
            expiry count from now, by the clock of the database.
        using: the alias of the database; None: the one that the routers choose.

    Returns:
        `queue:task_id`, which is the id of the result for `get_result`.

    Raises:
        NotSupportedError: the database is neither PostgreSQL nor SQLite.
        PayloadTooLarge: the arguments are over the limit; nothing was written.
        TypeError: *call* is no call, or an argument is no JSON; nothing was written.
    """
    [written] = outbox_enqueue_many([call], using=using)
    return written


def outbox_enqueue_many(calls: Iterable[Call[Any]], *, using: str | None = None) -> list[str]:
    """Write many calls into the outbox with one statement; see `outbox_enqueue`.

    Returns:
        The ids, in the order of *calls*.
    """
    alias = using or router.db_for_write(OutboxTask)
    _check_database(alias)
    values = [outbox_values(identified(call)) for call in calls]
    if values:
        rows = [OutboxTask(created_ms=NowMs(), **each) for each in values]
        OutboxTask.objects.using(alias).bulk_create(rows)
        _notify(alias)
    return [str(ResultId(each["queue"], each["task_id"])) for each in values]


def _check_database(alias: str) -> None:
    vendor, supported = connections[alias].vendor, " or ".join(SUPPORTED)
    if vendor not in SUPPORTED:
        raise NotSupportedError(
            f"an outbox of Django can be in {supported}; database {alias!r} is {vendor}"
        )


def _notify(alias: str) -> None:
    """Wake the relays when the transaction commits; PostgreSQL sends the notification only then."""
    if connections[alias].vendor == "postgresql":
        with connections[alias].cursor() as cursor:
            cursor.execute("SELECT pg_notify(%s, '')", [Outbox.channel])
