"""Holdfast: application building blocks on Valkey and Redis.

Everything a user needs is imported from here. `Holdfast` is the blocking client, `AsyncHoldfast`
its asyncio twin with the same names and signatures. Each name is loaded when it is first used: a
program pays for the blocks that it has.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from .homes import HOMES
from .version import __version__

if TYPE_CHECKING:
    from .client._async import AsyncHoldfast
    from .client._sync import Holdfast
    from .client.acl import acl_rule
    from .client.audit.report import AuditReport, Damage
    from .client.diagnosis.finding import Finding
    from .client.operations.facts import Replica, ServerFacts, SlowCommand
    from .completions._async import AsyncCompletions
    from .completions._sync import Completions
    from .completions.match import Match
    from .completions.recent._async import AsyncRecent
    from .completions.recent._sync import Recent
    from .core.codec import JSON, Codec
    from .core.durability import Fsynced, Replicated
    from .core.telemetry import Telemetry
    from .core.trace import TraceContext, current_trace, use_trace
    from .counters._async import AsyncCounter
    from .counters._sync import Counter
    from .counters.buffer._async import AsyncCounterBuffer
    from .counters.buffer._sync import CounterBuffer
    from .counters.sample import Sample, Samples
    from .counters.state import CounterState
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
    from .files._async import AsyncFileFeed
    from .files._sync import FileFeed
    from .files.consumer._async import AsyncConsumer
    from .files.consumer._sync import Consumer
    from .files.file_status import FileStatus
    from .files.lines import Block
    from .files.local._async import AsyncLocalFile, AsyncLocalFiles
    from .files.local._sync import LocalFile, LocalFiles
    from .files.reading._async import AsyncFeedFile
    from .files.reading._sync import FeedFile
    from .files.states import ConsumerStatus, FeedStatus, PublishedFile, PublishedFolder
    from .locks._async import AsyncLock, AsyncLockAll, AsyncSemaphore
    from .locks._sync import Lock, LockAll, Semaphore
    from .locks.fenced._async import AsyncFenced
    from .locks.fenced._sync import Fenced
    from .locks.lease._async import AsyncLease
    from .locks.lease._sync import Lease
    from .locks.states import Holder, LockState, SemaphoreState
    from .messages._async import AsyncMailbox
    from .messages._sync import Mailbox
    from .messages.chat._async import AsyncChat
    from .messages.chat._sync import Chat
    from .messages.inbox._async import AsyncInbox
    from .messages.inbox._sync import Inbox
    from .messages.inbox.stream._async import AsyncInboxStream
    from .messages.inbox.stream._sync import InboxStream
    from .messages.message import Batch, Gap, Message, Position, Undecodable
    from .messages.states import ChatStatus, MailboxStatus, Reader
    from .queues._async import AsyncQueue
    from .queues._sync import Queue
    from .queues.handle._async import AsyncTaskHandle
    from .queues.handle._sync import TaskHandle
    from .queues.presence import WorkerStatus
    from .queues.registry import Task, TaskRegistry
    from .queues.status import TaskStatus
    from .queues.task import Call, Pace, QueueStats, Retry
    from .queues.worker.context import RunningTask, current_task
    from .queues.worker.worker import AsyncWorker, Worker
    from .rows._async import AsyncRowCache
    from .rows._sync import RowCache
    from .rows.commits import CommitHook
    from .rows.report import RefreshReport, RowCacheStatus, RowExplanation
    from .rows.row import CachedRow
    from .rows.source import RowSource
    from .rows.sql import SqlRows
    from .tallies._async import AsyncTally
    from .tallies._sync import Tally
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
    "Pace",
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
        if name not in HOMES:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        value = getattr(import_module(f".{HOMES[name]}", __name__), name)
        globals()[name] = value
        return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
