"""The public names of `holdfast` by module, in reading order; each is loaded at its first use."""

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
    "core.codec": ("Codec", "JSON"),
    "core.durability": ("Fsynced", "Replicated"),
    "core.telemetry": ("Telemetry",),
    "core.trace": ("TraceContext", "current_trace", "use_trace"),
    "locks._sync.fenced": ("Fenced",),
    "locks._sync.lease": ("Lease",),
    "locks._sync.lock": ("Lock", "LockAll", "Semaphore"),
    "locks.states": ("Holder", "LockState", "SemaphoreState"),
    "queues._sync.handle": ("TaskHandle",),
    "queues._sync.queue": ("Queue",),
    "queues.registry": ("Task", "TaskRegistry"),
    "queues.task": ("Call", "Throughput", "QueueStats", "Retry"),
    "queues.task_status": ("TaskStatus",),
    "queues.worker.running_task": ("RunningTask", "current_task"),
    "queues.worker.worker": ("AsyncWorker", "Worker"),
    "queues.worker_status": ("WorkerStatus",),
    "messages._sync.chat": ("Chat",),
    "messages._sync.inbox": ("Inbox",),
    "messages._sync.inbox_stream": ("InboxStream",),
    "messages._sync.mailbox": ("Mailbox",),
    "messages.message": ("Batch", "Gap", "Message", "Position", "Undecodable"),
    "messages.states": ("ChatStatus", "MailboxStatus", "Reader"),
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
        "HoldfastError",
        "InvalidName",
        "LeaseLost",
        "LoadFailed",
        "LockTimeout",
        "MailboxFull",
        "NoSuchChat",
        "NoSuchMessage",
        "NotAMember",
        "NotDefined",
        "OutcomeUnknown",
        "PayloadTooLarge",
        "QueueAtCapacity",
        "ResultTimeout",
        "ServerFailed",
        "ServerInUse",
        "ServerNotFound",
        "ServerRefused",
        "ServerUnavailable",
        "StaleBatch",
        "StaleFence",
        "StillPublishing",
        "TaskFailed",
        "TimeOutOfRange",
        "TooManyMembers",
        "UnknownConsumer",
        "UnknownTask",
        "Unsupported",
    ),
}
"""The names of each module. Those of a folder `_sync` stand for their asyncio twins as well."""


def by_name(modules: Mapping[str, Sequence[str]]) -> dict[str, str]:
    """Return the module of each name, twins included: `AsyncLock` is in `locks._async.lock`."""
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
        package: its name.
        names: the module of each public name.
        namespace: `globals()` of the package; keeps what was imported.
    """

    def load(name: str) -> Any:
        if name not in names:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        value = namespace[name] = getattr(import_module(f".{names[name]}", package), name)
        return value

    return load
