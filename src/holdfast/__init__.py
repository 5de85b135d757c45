"""Holdfast: application building blocks on Valkey and Redis.

Everything a user needs is imported from here. `Holdfast` is the blocking client, `AsyncHoldfast`
its asyncio twin with the same names and signatures. Each name is loaded when it is first used: a
program pays for the blocks that it has.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from .exports import EXPORTS
from .version import __version__

if TYPE_CHECKING:
    from .client._async.client import AsyncHoldfast
    from .client._sync.client import Holdfast
    from .client.acl import acl_rule
    from .client.audit_report import AuditReport, Damage
    from .client.doctor.finding import Finding
    from .client.server_facts import Replica, ServerFacts, SlowCommand
    from .completions._async.completions import AsyncCompletions
    from .completions._async.recent import AsyncRecent
    from .completions._sync.completions import Completions
    from .completions._sync.recent import Recent
    from .completions.match import Match
    from .core.codec import JSON, Codec
    from .core.durability import Fsynced, Replicated
    from .core.telemetry import Telemetry
    from .core.trace import TraceContext, current_trace, use_trace
    from .counters._async.buffer import AsyncCounterBuffer
    from .counters._async.counter import AsyncCounter
    from .counters._sync.buffer import CounterBuffer
    from .counters._sync.counter import Counter
    from .counters.definition import CounterState
    from .counters.sample import Sample, Samples
    from .errors import (
        BadGeoData,
        BudgetExceeded,
        ChatExists,
        ClientClosed,
        CounterOverflow,
        DamagedData,
        DamagedFile,
        DecodeError,
        DefinitionConflict,
        FeedAborted,
        FeedCrowded,
        FeedLost,
        FeedSealed,
        FileDiffers,
        FilesFailed,
        FilesMissed,
        FileTaken,
        HoldfastError,
        InvalidName,
        LeaseLost,
        LoadFailed,
        LockTimeout,
        MailboxFull,
        NoSuchChat,
        NoSuchMessage,
        NotAMember,
        NotDefined,
        OutcomeUnknown,
        PayloadTooLarge,
        QueueAtCapacity,
        ResultTimeout,
        ServerFailed,
        ServerInUse,
        ServerNotFound,
        ServerRefused,
        ServerUnavailable,
        StaleBatch,
        StaleFence,
        StillPublishing,
        TaskFailed,
        TimeOutOfRange,
        TooManyMembers,
        UnknownConsumer,
        UnknownTask,
        Unsupported,
    )
    from .files._async.consumer import AsyncConsumer
    from .files._async.feed import AsyncFileFeed
    from .files._async.feed_file import AsyncFeedFile
    from .files._async.local_files import AsyncLocalFile, AsyncLocalFiles
    from .files._sync.consumer import Consumer
    from .files._sync.feed import FileFeed
    from .files._sync.feed_file import FeedFile
    from .files._sync.local_files import LocalFile, LocalFiles
    from .files.file_status import FileStatus
    from .files.lines import Block
    from .files.states import ConsumerStatus, FeedStatus, PublishedFile, PublishedFolder
    from .locks._async.fenced import AsyncFenced
    from .locks._async.lease import AsyncLease
    from .locks._async.lock import AsyncLock, AsyncLockAll, AsyncSemaphore
    from .locks._sync.fenced import Fenced
    from .locks._sync.lease import Lease
    from .locks._sync.lock import Lock, LockAll, Semaphore
    from .locks.states import Holder, LockState, SemaphoreState
    from .messages._async.chat import AsyncChat
    from .messages._async.inbox import AsyncInbox
    from .messages._async.inbox_stream import AsyncInboxStream
    from .messages._async.mailbox import AsyncMailbox
    from .messages._sync.chat import Chat
    from .messages._sync.inbox import Inbox
    from .messages._sync.inbox_stream import InboxStream
    from .messages._sync.mailbox import Mailbox
    from .messages.message import Batch, Gap, Message, Position, Undecodable
    from .messages.states import ChatStatus, MailboxStatus, Reader
    from .queues._async.handle import AsyncTaskHandle
    from .queues._async.queue import AsyncQueue
    from .queues._sync.handle import TaskHandle
    from .queues._sync.queue import Queue
    from .queues.registry import Task, TaskRegistry
    from .queues.task import Call, QueueStats, Retry, Throughput
    from .queues.task_status import TaskStatus
    from .queues.worker.running_task import RunningTask, current_task
    from .queues.worker.worker import AsyncWorker, Worker
    from .queues.worker_status import WorkerStatus
    from .rows._async.row_cache import AsyncRowCache
    from .rows._sync.row_cache import RowCache
    from .rows.commit_hook import CommitHook
    from .rows.report import RefreshReport, RowCacheStatus, RowExplanation
    from .rows.row import CachedRow
    from .rows.source import RowSource
    from .rows.sql import SqlRows
    from .tallies._async.tally import AsyncTally
    from .tallies._sync.tally import Tally
    from .tallies.counted import Counted
    from .tallies.geo.key import GeoKey
    from .tallies.geo.table import GeoTable
    from .tallies.place import Place
    from .tallies.report import Change, Count, Rejected, TallyReport
    from .telemetry.opentelemetry import OpenTelemetry
    from .telemetry.prometheus import PrometheusMetrics

__all__ = [
    "JSON",
    "AsyncChat",
    "AsyncCompletions",
    "AsyncConsumer",
    "AsyncCounter",
    "AsyncCounterBuffer",
    "AsyncFeedFile",
    "AsyncFenced",
    "AsyncFileFeed",
    "AsyncHoldfast",
    "AsyncInbox",
    "AsyncInboxStream",
    "AsyncLease",
    "AsyncLocalFile",
    "AsyncLocalFiles",
    "AsyncLock",
    "AsyncLockAll",
    "AsyncMailbox",
    "AsyncQueue",
    "AsyncRecent",
    "AsyncRowCache",
    "AsyncSemaphore",
    "AsyncTally",
    "AsyncTaskHandle",
    "AsyncWorker",
    "AuditReport",
    "BadGeoData",
    "Batch",
    "Block",
    "BudgetExceeded",
    "CachedRow",
    "Call",
    "Change",
    "Chat",
    "ChatExists",
    "ChatStatus",
    "ClientClosed",
    "Codec",
    "CommitHook",
    "Completions",
    "Consumer",
    "ConsumerStatus",
    "Count",
    "Counted",
    "Counter",
    "CounterBuffer",
    "CounterOverflow",
    "CounterState",
    "Damage",
    "DamagedData",
    "DamagedFile",
    "DecodeError",
    "DefinitionConflict",
    "FeedAborted",
    "FeedCrowded",
    "FeedFile",
    "FeedLost",
    "FeedSealed",
    "FeedStatus",
    "Fenced",
    "FileDiffers",
    "FileFeed",
    "FileStatus",
    "FileTaken",
    "FilesFailed",
    "FilesMissed",
    "Finding",
    "Fsynced",
    "Gap",
    "GeoKey",
    "GeoTable",
    "Holder",
    "Holdfast",
    "HoldfastError",
    "Inbox",
    "InboxStream",
    "InvalidName",
    "Lease",
    "LeaseLost",
    "LoadFailed",
    "LocalFile",
    "LocalFiles",
    "Lock",
    "LockAll",
    "LockState",
    "LockTimeout",
    "Mailbox",
    "MailboxFull",
    "MailboxStatus",
    "Match",
    "Message",
    "NoSuchChat",
    "NoSuchMessage",
    "NotAMember",
    "NotDefined",
    "OpenTelemetry",
    "OutcomeUnknown",
    "PayloadTooLarge",
    "Place",
    "Position",
    "PrometheusMetrics",
    "PublishedFile",
    "PublishedFolder",
    "Queue",
    "QueueAtCapacity",
    "QueueStats",
    "Reader",
    "Recent",
    "RefreshReport",
    "Rejected",
    "Replica",
    "Replicated",
    "ResultTimeout",
    "Retry",
    "RowCache",
    "RowCacheStatus",
    "RowExplanation",
    "RowSource",
    "RunningTask",
    "Sample",
    "Samples",
    "Semaphore",
    "SemaphoreState",
    "ServerFacts",
    "ServerFailed",
    "ServerInUse",
    "ServerNotFound",
    "ServerRefused",
    "ServerUnavailable",
    "SlowCommand",
    "SqlRows",
    "StaleBatch",
    "StaleFence",
    "StillPublishing",
    "Tally",
    "TallyReport",
    "Task",
    "TaskFailed",
    "TaskHandle",
    "TaskRegistry",
    "TaskStatus",
    "Telemetry",
    "Throughput",
    "TimeOutOfRange",
    "TooManyMembers",
    "TraceContext",
    "Undecodable",
    "UnknownConsumer",
    "UnknownTask",
    "Unsupported",
    "Worker",
    "WorkerStatus",
    "__version__",
    "acl_rule",
    "current_task",
    "current_trace",
    "use_trace",
]


if not TYPE_CHECKING:  # or a type checker would believe in any name

    def __getattr__(name: str) -> object:
        """A public name that is used for the first time."""
        if name not in EXPORTS:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        value = getattr(import_module(f".{EXPORTS[name]}", __name__), name)
        globals()[name] = value
        return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
