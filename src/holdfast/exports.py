"""List the public names of `holdfast` by module, and load each name when it is first used."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from typing import Any, Final

MODULES: Final[Mapping[str, Sequence[str]]] = {
    "client._sync.client": ("Holdfast",),
    "client.acl": ("acl_rule",),
    "client.audit_report": ("AuditReport", "Damage"),
    "client.finding": ("Finding", "Severity"),
    "client.server_facts": ("Replica", "ServerFacts", "SlowCommand"),
    "cache._sync.cached_function": ("CachedFunction",),
    "cache.cached_value": ("CachedValue",),
    "cache.function_counts": ("CachedFunctionStatus",),
    "cache.options": ("CachedOptions",),
    "cache.registry": ("CacheRegistry",),
    "core.codec": ("Codec", "JSON", "MSGPACK"),
    "core.durability": ("Fsynced", "Replicated"),
    "core.gap": ("Gap",),
    "core.near.options": ("Near", "NearStats"),
    "core.telemetry": ("Telemetry",),
    "core.trace": ("TraceContext", "current_trace", "use_trace"),
    "idempotency._sync.call": ("IdempotentCall",),
    "idempotency._sync.store": ("Idempotency",),
    "idempotency.call_status": ("IdempotentCallStatus",),
    "limits._sync.permit": ("Permit",),
    "limits._sync.rate_limiter": ("RateLimiter",),
    "limits.asgi": ("RateLimitMiddleware", "client_address"),
    "limits.decision": ("Decision", "LimitUsage"),
    "limits.limit": ("Limit",),
    "locks._sync.fenced": ("Fenced",),
    "locks._sync.lease": ("Lease",),
    "locks._sync.lock": ("Lock", "LockAll", "Semaphore"),
    "locks._sync.rw_lock": ("RwLock",),
    "locks._sync.singleton": ("Singleton",),
    "locks.states": ("Holder", "LockState", "RwLockState", "SemaphoreState"),
    "queues._sync.handle": ("TaskHandle",),
    "queues._sync.queue": ("Queue",),
    "queues.call": ("Call",),
    "queues.delayed_key": ("DelayedKey",),
    "queues.ended_task": ("EndedTask",),
    "queues.events.progress": ("Progress",),
    "queues.events.task_event": ("TaskEvent",),
    "queues.groups._sync.group_handle": ("GroupHandle",),
    "queues.groups.members": ("GROUP_ID", "RESULT", "chain", "group"),
    "queues.groups.status": ("GroupStatus", "MemberResult"),
    "queues.lifespan": ("WorkerInfo",),
    "queues.middleware": ("Middleware",),
    "queues.per_key": ("PerKey",),
    "queues.outcomes": ("GiveUp", "RetryAfter", "Snooze"),
    "queues.queue_stats": ("QueueStats", "Throughput"),
    "queues.registry": ("Task", "TaskRegistry"),
    "queues.retry": ("Retry",),
    "queues._sync.schedule_handle": ("ScheduleHandle",),
    "queues.schedule.schedule": ("Schedule",),
    "queues.schedule.status": ("ScheduleStatus",),
    "queues.schedule.times": ("Cron", "Every", "Once"),
    "queues.running_task": ("RunningTask", "current_task"),
    "queues.steps.interrupts": ("StepRefused", "StepsChanged", "TaskSuspended"),
    "queues.steps.stored_steps": ("StepStatus", "TaskSteps"),
    "queues.task_status": ("TaskStatus",),
    "queues.unique": ("Unique",),
    "queues.worker.worker": ("AsyncWorker", "Worker"),
    "queues.worker.worker_health": ("WorkerHealth",),
    "queues.worker_status": ("WorkerStatus",),
    "messages._sync.chat": ("Chat",),
    "messages._sync.inbox": ("Inbox",),
    "messages._sync.inbox_stream": ("InboxStream",),
    "messages._sync.mailbox": ("Mailbox",),
    "messages.inbox_values": ("InboxBatches", "InboxChatIds", "InboxUnread"),
    "messages.message": ("Batch", "Message", "Position", "Undecodable"),
    "messages.states": ("ChatStatus", "MailboxStatus", "Reader"),
    "outbox._sync.relay": ("OutboxRelay",),
    "outbox.outbox": ("Outbox",),
    "outbox.row": ("OutboxRow", "OutboxStatus"),
    "outbox.values": ("outbox_values",),
    "completions._sync.completions": ("Completions",),
    "completions._sync.recent": ("Recent",),
    "completions.match": ("Match",),
    "counters._sync.buffer": ("CounterBuffer",),
    "counters._sync.counter": ("Counter",),
    "counters.sample": ("Sample", "Samples"),
    "counters.definition": ("CounterState",),
    "rows._sync.row_cache": ("RowCache",),
    "rows.commit_hook": ("CommitHook",),
    "rows.report": ("RefreshReport", "RowCacheStatus", "RowExplanation"),
    "rows.row": ("CachedRow",),
    "rows.source": ("RowSource",),
    "rows.sql": ("SqlRows",),
    "files._sync.consumer": ("Consumer",),
    "files._sync.feed": ("FileFeed",),
    "files._sync.feed_file": ("FeedFile",),
    "files._sync.local_files": ("LocalFile", "LocalFiles"),
    "files.file_status": ("FileStatus",),
    "files.lines": ("Block",),
    "files.states": ("ConsumerStatus", "FeedStatus", "PublishedFile", "PublishedFolder"),
    "tallies._sync.tally": ("Tally",),
    "tallies.counted": ("Counted",),
    "tallies.geo.key": ("GeoKey",),
    "tallies.geo.location": ("GeoLocation",),
    "tallies.geo.table": ("GeoTable",),
    "tallies.report": ("Change", "Count", "Rejected", "TallyReport"),
    "telemetry.opentelemetry": ("OpenTelemetry",),
    "telemetry.prometheus": ("PrometheusMetrics",),
    "errors": (
        "BadGeoData",
        "BudgetExceeded",
        "CacheLoadFailed",
        "CacheTimeout",
        "ChatExists",
        "ClientClosed",
        "CounterOverflow",
        "DamagedData",
        "DamagedFile",
        "DecodeError",
        "DefinitionConflict",
        "FeedAborted",
        "FeedCrowded",
        "FeedLost",
        "FeedSealed",
        "FileDiffers",
        "FileTaken",
        "FilesFailed",
        "FilesMissed",
        "GroupExists",
        "GroupTimeout",
        "HoldfastError",
        "InvalidName",
        "LeaseLost",
        "LifespanFailed",
        "LoadFailed",
        "LockTimeout",
        "MailboxFull",
        "UnsupportedLayout",
        "NoSuchChat",
        "NoSuchGroup",
        "NoSuchMessage",
        "NoSuchSchedule",
        "NotAMember",
        "NotDefined",
        "OutcomeUnknown",
        "PayloadTooLarge",
        "QueueAtCapacity",
        "ScheduleExists",
        "RateLimited",
        "ResultTimeout",
        "ServerFailed",
        "ServerInUse",
        "ServerNotFound",
        "ServerRefused",
        "ServerUnavailable",
        "SignalRefused",
        "SignalTimeout",
        "StaleBatch",
        "StaleFence",
        "StepFailed",
        "StillPublishing",
        "TaskExists",
        "TaskFailed",
        "TimeOutOfRange",
        "TooManyMembers",
        "UnknownConsumer",
        "UnknownTask",
        "Unsupported",
        "UnsupportedPlatform",
        "WorkerCannotStart",
    ),
}
"""Module → its public names. A name in a folder `_sync` also stands for its twin in `_async`."""


def by_name(modules: Mapping[str, Sequence[str]]) -> dict[str, str]:
    """Return the module of each name, with the asyncio names: `AsyncLock` → `locks._async.lock`."""
    found = {}
    for module, names in modules.items():
        for name in names:
            found[name] = module
            if "_sync." in module:
                found[f"Async{name}"] = module.replace("_sync.", "_async.")
    return found


EXPORTS: Final = by_name(MODULES)
"""The module of each public name."""


def lazily(
    package: str, names: Mapping[str, str], namespace: dict[str, Any]
) -> Callable[[str], Any]:
    """Return a `__getattr__` for *package* that imports a public name when it is first used.

    Args:
        package: name of the package.
        names: the module of each public name.
        namespace: `globals()` of the package, where an imported name is stored.
    """

    def load(name: str) -> Any:
        if name not in names:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        value = namespace[name] = getattr(import_module(f".{names[name]}", package), name)
        return value

    return load
