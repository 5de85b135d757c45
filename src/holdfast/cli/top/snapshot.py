"""Read the snapshots that `holdfast top` shows, and sort them: most urgent first."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from typing import Any, Final

from ... import AsyncHoldfast, FeedStatus, RowCacheStatus, WorkerStatus
from ...inspect.permits import PermitList
from ...inspect.survey import Survey, SurveyLimits, survey
from ...inspect.throughput import ThroughputMeter

LIMITS: Final = SurveyLimits(
    queues=100,
    mailboxes=100,
    chats=100,
    locks=200,
    counters=20,
    cached_functions=0,
    row_caches=10,
    file_feeds=20,
    tallies=0,
)

LISTED: Final = 40
"""How many queues, locks and so on to read each, because a screen has no space for more."""


@dataclass(frozen=True, slots=True)
class UnreadLine:
    """Describes a mailbox or a chat, with the number of its unread messages.

    Attributes:
        name: name of the mailbox or chat.
        kind: `mailbox` or `chat`.
        unread: number of unread messages; in a chat, of the member who is furthest behind.
        reader: the member who is furthest behind; None in a mailbox, or if all have read all.
        last_seen_at: when the reader was last active; None: never, or unknown.
    """

    name: str
    kind: str
    unread: int
    reader: str | None
    last_seen_at: datetime | None


@dataclass(frozen=True, slots=True)
class TopSnapshot:
    """Holds the state of a namespace, with the throughput since the previous snapshot.

    Attributes:
        survey: the state of the namespace.
        per_second: name of a queue → tasks done per second.
    """

    survey: Survey
    per_second: Mapping[str, float]

    @property
    def total_per_second(self) -> float:
        """Return the tasks done per second in all queues."""
        return sum(self.per_second.values())

    @property
    def queues(self) -> list[str]:
        """Return the queues, those with the oldest waiting task first."""

        def urgency(name: str) -> tuple[float, int, int, str]:
            stats = self.survey.queues[name]
            waiting, later = stats.ready + stats.running, stats.delayed + stats.dead
            return -self.survey.waited(name), -waiting, -later, name

        return sorted(self.survey.queues, key=urgency)[:LISTED]

    @property
    def workers(self) -> list[WorkerStatus]:
        """Return the workers, those without a heartbeat first."""
        return sorted(self.survey.workers, key=lambda worker: (worker.alive, worker.name))

    @property
    def permits(self) -> list[PermitList]:
        """Return the locks and semaphores, those with most waiters first."""
        return self.survey.permits[:LISTED]

    @property
    def unread(self) -> list[UnreadLine]:
        """Return the mailboxes and chats, those with most unread messages first."""
        lines = [
            UnreadLine(name, "mailbox", status.unread, None, status.last_seen_at)
            for name, status in self.survey.mailboxes.items()
        ]
        for name, status in self.survey.chats.items():
            last = next((reader for reader in status.behind if reader.unread), None)
            lines.append(
                UnreadLine(name, "chat", last.unread, last.user, last.last_seen_at)
                if last
                else UnreadLine(name, "chat", 0, None, None)
            )
        return sorted(lines, key=lambda line: (-line.unread, line.kind, line.name))[:LISTED]

    @property
    def row_caches(self) -> list[tuple[str, RowCacheStatus]]:
        """Return the row caches, the one with the most overdue row first."""
        return sorted(self.survey.row_caches.items(), key=lambda each: (-each[1].lag, each[0]))

    @property
    def feeds(self) -> list[FeedStatus]:
        """Return the feeds, the one with the slowest consumer first."""

        def urgency(status: FeedStatus) -> tuple[int, str]:
            behind = max((consumer.behind for consumer in status.consumers), default=0)
            return -behind, status.name

        feeds = self.survey.file_feeds.values()
        return sorted((each for each in feeds if each.state != "undefined"), key=urgency)

    @property
    def known(self) -> dict[str, int]:
        """Return how many queues, locks and so on the catalog of the namespace has, by kind."""
        known = self.survey.known
        return {
            "queue": known["queue"],
            "worker": len(self.survey.workers),
            "lock": known["lock"] + known["rw_lock"] + known["semaphore"],
            "mailbox": known["mailbox"],
            "chat": known["chat"],
            "counter": known["counter"],
            "row cache": known["row_cache"],
            "feed": known["file_feed"],
        }

    def as_json(self) -> dict[str, Any]:
        """Return the object that `--json` prints."""
        found = self.survey
        return {
            "at": found.at,
            "namespace": found.namespace,
            "problem": None,
            "topology": found.topology,
            "servers": list(map(asdict, found.servers)),
            "tasks": {**found.tasks, "per_second": self.total_per_second},
            "queues": [self._queue_json(name) for name in self.queues],
            "workers": [{"alive": each.alive, **asdict(each)} for each in self.workers],
            "locks": list(map(_permits_json, self.permits)),
            "unread": list(map(asdict, self.unread)),
            "counters": [
                {
                    "counter": name,
                    "precision": window.precision,
                    "total": window.total,
                    "values": [sample.value for sample in window.samples],
                }
                for name, window in found.counters.items()
            ],
            "row_caches": [{"cache": name, **asdict(status)} for name, status in self.row_caches],
            "feeds": list(map(asdict, self.feeds)),
            "known": self.known,
        }

    def _queue_json(self, name: str) -> dict[str, Any]:
        return {
            "queue": name,
            "per_second": self.per_second[name],
            "oldest": self.survey.waited(name),
            "workers": len(self.survey.serving(name)),
            **asdict(self.survey.queues[name]),
        }


def _permits_json(permits: PermitList) -> dict[str, Any]:
    first = permits.next_free
    return {
        "name": permits.name,
        "kind": permits.kind,
        "limit": permits.limit,
        "held": len(permits.holders),
        "holder": first.name if first else None,
        "remaining": first.remaining if first else 0.0,
        "waiters": len(permits.waiters),
    }


class SnapshotReader:
    """Reads snapshots, and computes the throughput between two of them."""

    def __init__(self, hf: AsyncHoldfast) -> None:
        self._hf = hf
        self._meter = ThroughputMeter()

    async def read(self) -> TopSnapshot:
        """Read and return a new snapshot.

        Raises:
            HoldfastError: a call failed.
        """
        found = await survey(self._hf, LIMITS)
        return TopSnapshot(found, self._meter.measure(found.throughputs, datetime.now(UTC)))
