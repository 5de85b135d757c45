"""Holdfast: application building blocks on Valkey and Redis.

Everything a user needs is imported from here. `Holdfast` is the blocking client, `AsyncHoldfast`
its asyncio twin with the same names and signatures.
"""

from .client._async import AsyncHoldfast
from .client._sync import Holdfast
from .client.acl import acl_rule
from .errors import (
    DecodeError,
    HoldfastError,
    InvalidName,
    OutcomeUnknown,
    PayloadTooLarge,
    ServerFailed,
    ServerInUse,
    ServerNotFound,
    ServerRefused,
    ServerUnavailable,
    UnknownTask,
)
from .queues._async import AsyncQueue, AsyncTaskHandle
from .queues._sync import Queue, TaskHandle
from .queues.registry import Task, TaskRegistry
from .queues.task import Call, DeadTask, QueueStats, Retry
from .queues.worker.context import RunningTask, current_task
from .queues.worker.worker import AsyncWorker, Worker
from .version import __version__

__all__ = [
    "AsyncHoldfast",
    "AsyncQueue",
    "AsyncTaskHandle",
    "AsyncWorker",
    "Call",
    "DeadTask",
    "DecodeError",
    "Holdfast",
    "HoldfastError",
    "InvalidName",
    "OutcomeUnknown",
    "PayloadTooLarge",
    "Queue",
    "QueueStats",
    "Retry",
    "RunningTask",
    "ServerFailed",
    "ServerInUse",
    "ServerNotFound",
    "ServerRefused",
    "ServerUnavailable",
    "Task",
    "TaskHandle",
    "TaskRegistry",
    "UnknownTask",
    "Worker",
    "__version__",
    "acl_rule",
    "current_task",
]
