"""Names of OpenTelemetry: the semantic conventions for messaging, version 1.44, and our own.

Those for messaging are in development: what they rename, changes here and nowhere else.
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
"""Our `messaging.system`: what a queue or a mailbox is, is up to us and not to the server."""

UNIT_KIND: Final = "holdfast.unit.kind"
UNIT_NAME: Final = "holdfast.unit.name"
SCRIPT: Final = "holdfast.script"
TASK: Final = "holdfast.task.name"
ATTEMPT: Final = "holdfast.task.attempt"
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

QUEUE: Final = "queue"
"""The kind of unit that has few names, chosen by programmers. Mailboxes and chats have as many
names as there are users, so those are part of no span name and of no metric."""

SETTLING: Final = {"messages/ack": "ack", "queues/step": "step"}
"""Scripts that settle messages, and the name of the operation."""

TOLD_ELSEWHERE: Final = frozenset(
    {
        *("queues/enqueue", "messages/deliver", "messages/send", "messages/create"),
        *("messages/fetch", "locks/acquire", "queues/step"),
    }
)
"""Scripts that get no span of their own: what they are part of has one."""

UPKEEP: Final = frozenset({"core/note", "core/forget", "queues/heartbeat", "queues/renew"})
"""Scripts that no caller asked for: they get no span either."""

SECONDS: Final = (0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10)
"""Bounds of the buckets of durations, as the conventions advise."""
