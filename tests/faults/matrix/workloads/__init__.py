"""One workload for each block."""

from faults.matrix.workloads.answers import Answers
from faults.matrix.workloads.base import Workload
from faults.matrix.workloads.chats import Chats, Mailboxes
from faults.matrix.workloads.counts import Counts
from faults.matrix.workloads.feeds import Feeds
from faults.matrix.workloads.lines import Tallies
from faults.matrix.workloads.names import Names
from faults.matrix.workloads.partitions import Partitions
from faults.matrix.workloads.places import Locks, RwLocks, Semaphores, Singletons
from faults.matrix.workloads.queues import Queues
from faults.matrix.workloads.rates import Rates
from faults.matrix.workloads.results import Results
from faults.matrix.workloads.rows import Rows
from faults.matrix.workloads.schedules import Schedules

WORKLOADS: dict[str, type[Workload]] = {
    "lock": Locks,
    "rw_lock": RwLocks,
    "singleton": Singletons,
    "semaphore": Semaphores,
    "limiter": Rates,
    "idempotency": Answers,
    "queue": Queues,
    "partitions": Partitions,
    "schedules": Schedules,
    "mailbox": Mailboxes,
    "chat": Chats,
    "completions": Names,
    "counter": Counts,
    "cache": Results,
    "rows": Rows,
    "files": Feeds,
    "tallies": Tallies,
}

__all__ = ["WORKLOADS", "Workload"]
