"""Holdfast: application building blocks on Valkey and Redis.

Everything a user needs is imported from here. `Holdfast` is the blocking client, `AsyncHoldfast`
its asyncio twin with the same names and signatures.
"""

from .client._async import AsyncHoldfast
from .client._sync import Holdfast
from .client.acl import acl_rule
from .errors import (
    DecodeError,
    DefinitionConflict,
    HoldfastError,
    InvalidName,
    OutcomeUnknown,
    PayloadTooLarge,
    QueueAtCapacity,
    ResultTimeout,
    ServerFailed,
    ServerInUse,
    ServerNotFound,
    ServerRefused,
    ServerUnavailable,
    TaskFailed,
    UnknownTask,
)
from .queues._async import AsyncQueue
from .queues._sync import Queue
from .queues.handle._async import AsyncTaskHandle
from .queues.handle._sync import TaskHandle
from .queues.registry import Task, TaskRegistry
from .queues.status import TaskStatus
from .queues.task import Call, QueueStats, Retry
from .queues.worker.context import RunningTask, current_task
from .queues.worker.worker import AsyncWorker, Worker
from .version import __version__

__all__ = [
    "AsyncHoldfast",
    "AsyncQueue",
    "AsyncTaskHandle",
    "AsyncWorker",
    "Call",
    "DecodeError",
    "DefinitionConflict",
    "Holdfast",
    "HoldfastError",
    "InvalidName",
    "OutcomeUnknown",
    "PayloadTooLarge",
    "Queue",
    "QueueAtCapacity",
    "QueueStats",
    "ResultTimeout",
    "Retry",
    "RunningTask",
    "ServerFailed",
    "ServerInUse",
    "ServerNotFound",
    "ServerRefused",
    "ServerUnavailable",
    "Task",
    "TaskFailed",
    "TaskHandle",
    "TaskRegistry",
    "TaskStatus",
    "UnknownTask",
    "Worker",
    "__version__",
    "acl_rule",
    "current_task",
]
