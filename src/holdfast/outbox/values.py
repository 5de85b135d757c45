"""The values of the columns of an outbox for a call."""

from __future__ import annotations

import secrets
from typing import Any, Final

from ..core.guarded_telemetry import guarded
from ..core.names import Namespace
from ..core.telemetry import Telemetry, during
from ..queues.call import Call, checked_call
from ..queues.enqueue_batch import packed
from ..queues.keys import KIND

_ANY_NAMESPACE: Final = Namespace.of("")
"""Telemetry gets a queue without its namespace, which only the relay knows."""


def outbox_values(call: Call[Any], telemetry: Telemetry | None = None) -> dict[str, Any]:
    """Return the values of the columns of an outbox for a call, by the names of the columns.

    Use it to write rows without SQLAlchemy, in your own transaction. The column `created_ms` is
    missing: it is the time of the database, in ms since 1970. After the row, send a `NOTIFY` to
    `Outbox.channel` if the database is PostgreSQL: it wakes the relays.

    Args:
        call: the result of `task.call(…)`. Its `on_enqueue` hooks run.
        telemetry: records the enqueueing, and gives its trace to the task; None: nothing is
            recorded.

    Raises:
        PayloadTooLarge: the arguments are over the limit.
        TypeError: an argument is no JSON.
    """
    call = checked_call(call).hooked()
    task_id = call.task_id or secrets.token_hex(16)
    unit, facts = _ANY_NAMESPACE.unit(KIND, call.queue), {"id": task_id, "task": call.task}
    with during(guarded(telemetry), "send", unit, facts=facts) as sent:
        _, priority, wait, expires, envelope = packed(call, task_id, sent.trace)
    return {
        "task_id": task_id,
        "queue": call.queue,
        "task": call.task,
        "priority": priority,
        "wait": wait,
        "expires": expires,
        "envelope": envelope,
    }
