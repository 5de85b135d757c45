"""Define the names of attributes and metrics for OpenTelemetry.

Names that begin with `messaging.` follow the semantic conventions for messaging, version 1.44,
which are still in development. Names that begin with `holdfast.` are those of this project.
"""

from __future__ import annotations

from typing import Final

SCHEMA_URL: Final = "https://opentelemetry.io/schemas/1.44.0"

SYSTEM: Final = "messaging.system"
OPERATION: Final = "messaging.operation.name"
OPERATION_TYPE: Final = "messaging.operation.type"
DESTINATION: Final = "messaging.destination.name"
TEMPLATE: Final = "messaging.destination.template"
MESSAGE_ID: Final = "messaging.message.id"
BATCH: Final = "messaging.batch.message_count"
ERROR: Final = "error.type"

HOLDFAST: Final = "holdfast"
"""Value of `messaging.system`. It is not `redis`, because Holdfast implements the messaging."""

UNIT_KIND: Final = "holdfast.unit.kind"
UNIT_NAME: Final = "holdfast.unit.name"
SCRIPT: Final = "holdfast.script"
TASK: Final = "holdfast.task.name"
ATTEMPT: Final = "holdfast.task.attempt"
STEP: Final = "holdfast.task.step"
OUTCOME: Final = "holdfast.outcome"
RESULT: Final = "holdfast.result"

CLIENT_DURATION: Final = "messaging.client.operation.duration"
PROCESS_DURATION: Final = "messaging.process.duration"
SENT: Final = "messaging.client.sent.messages"
CONSUMED: Final = "messaging.client.consumed.messages"

CALL_DURATION: Final = "holdfast.call.duration"
WAIT_DURATION: Final = "holdfast.lock.wait.duration"
LOST: Final = "holdfast.lock.lost"
LOAD_DURATION: Final = "holdfast.rows.load.duration"
LOADED: Final = "holdfast.rows.loaded"
REQUESTS: Final = "holdfast.rows.requests"
RESULTS: Final = "holdfast.cache.requests"
FUNCTION_DURATION: Final = "holdfast.cache.load.duration"
LATENESS: Final = "holdfast.schedule.lateness"
OCCURRENCES: Final = "holdfast.schedule.occurrences"
TASK_EVENTS: Final = "holdfast.task.events"

CACHED: Final = "cached"
"""The kind of cached functions."""

QUEUE: Final = "queue"
"""The only kind of messaging unit with few names. There may be as many mailboxes and chats as
users, so their names are not used in names of spans or in labels of metrics."""

SETTLING: Final = {"messages/ack": "ack", "queues/step": "step"}
"""Script that settles messages or tasks → the name of its operation."""

PARTS_OF_OPERATIONS: Final = frozenset(
    {
        *("queues/enqueue", "messages/deliver", "messages/send", "messages/create"),
        *("messages/fetch", "locks/acquire", "queues/step"),
    }
)
"""Scripts without a span of their own, because the operation that calls them has one."""

UPKEEP: Final = frozenset({"core/note", "core/forget", "queues/heartbeat", "queues/renew"})
"""Scripts without a span, because Holdfast calls them by itself, not for a call of the program."""

SECONDS: Final = (0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10)
"""Upper bounds of the buckets of a duration, in seconds, as the conventions advise."""
