"""What is seen in one look at a namespace."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any

from ... import FeedStatus, QueueStats, RowCacheStatus, Sample, ServerFacts, WorkerStatus


@dataclass(frozen=True, slots=True)
class QueueLine:
    """A queue.

    Attributes:
        per_second: tasks done since the last look; at the first one, in the last minutes.
        oldest: seconds that the longest waiting task waits.
        workers: how many serve it that live.
    """

    queue: str
    stats: QueueStats
    per_second: float
    oldest: float
    workers: int


@dataclass(frozen=True, slots=True)
class PlacesLine:
    """A lock or a semaphore.

    Attributes:
        limit: None: nobody has said yet.
        holder: whose place ends first; None: nobody holds any.
        remaining: seconds until that ends, unless it is renewed.
    """

    name: str
    kind: str
    limit: int | None
    held: int
    holder: str | None
    remaining: float
    waiters: int


@dataclass(frozen=True, slots=True)
class UnreadLine:
    """A mailbox or a chat.

    Attributes:
        unread: messages; of a chat, those of the member who is furthest behind.
        reader: who that is; None: nobody is.
        last_seen_at: when the reader was last there; None: not known, or never.
    """

    name: str
    kind: str
    unread: int
    reader: str | None
    last_seen_at: datetime | None


@dataclass(frozen=True, slots=True)
class CounterLine:
    """A counter over its latest samples, at most a minute of them where they are fine enough.

    Attributes:
        precision: seconds of one sample.
    """

    counter: str
    precision: int
    samples: Sequence[Sample]

    @property
    def window(self) -> int:
        """Seconds of all samples."""
        return self.precision * len(self.samples)

    @property
    def total(self) -> int:
        """What was counted in the window."""
        return sum(sample.value for sample in self.samples)


@dataclass(frozen=True, slots=True)
class CacheLine:
    """A row cache."""

    cache: str
    status: RowCacheStatus


@dataclass(frozen=True, slots=True)
class Frame:
    """Everything in one look; of each kind what needs attention comes first.

    Attributes:
        at: when, by the clock of this machine.
        sums: tasks by state, over all queues that were looked at.
        per_second: tasks that these did, together; see `QueueLine`.
        known: by kind, how many names the server tells; more are listed than are looked at.
    """

    at: datetime
    namespace: str
    topology: str
    servers: Sequence[ServerFacts]
    sums: Mapping[str, int]
    per_second: float
    queues: Sequence[QueueLine]
    workers: Sequence[WorkerStatus]
    places: Sequence[PlacesLine]
    unread: Sequence[UnreadLine]
    counters: Sequence[CounterLine]
    caches: Sequence[CacheLine]
    feeds: Sequence[FeedStatus]
    known: Mapping[str, int]

    def as_json(self) -> dict[str, Any]:
        """For scripts; a status stands beside the name of whose it is."""
        return {
            "at": self.at,
            "namespace": self.namespace,
            "problem": None,
            "topology": self.topology,
            "servers": list(map(asdict, self.servers)),
            "tasks": {**self.sums, "per_second": self.per_second},
            "queues": list(map(_flat, self.queues)),
            "workers": [{"alive": each.alive, **asdict(each)} for each in self.workers],
            "locks": list(map(asdict, self.places)),
            "unread": list(map(asdict, self.unread)),
            "counters": list(map(_counted, self.counters)),
            "row_caches": list(map(_flat, self.caches)),
            "feeds": list(map(asdict, self.feeds)),
            "known": self.known,
        }


def _flat(line: QueueLine | CacheLine) -> dict[str, Any]:
    found = asdict(line)
    return {**found, **found.pop("status" if isinstance(line, CacheLine) else "stats")}


def _counted(line: CounterLine) -> dict[str, Any]:
    values = [sample.value for sample in line.samples]
    return {
        "counter": line.counter,
        "precision": line.precision,
        "total": line.total,
        "values": values,
    }
