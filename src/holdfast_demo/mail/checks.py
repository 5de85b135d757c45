"""Check the mails, and compute their figures.

The only evidence is the events, the Message-IDs in the maildir, the deliveries of this run, and the
logs of its workers. No function calls a server or reads a clock.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Final

from ..demo import Invariant
from .events import MarketEvent
from .order import ClaimOrder
from .smtp_server import MailArrival

SLICES: Final = 20
"""Number of equal parts of a run for which mails are counted."""

REPEATED_AT_MOST: Final = 32
"""Maximum number of finished tasks that a kill may repeat."""

GIVEN_BACK: Final = re.compile(
    r" WARNING task (\S+) "
    r"(?:of .*: it is stopped|of .* is given back: |did not end in time, given back)"
)


@dataclass(frozen=True, slots=True)
class MailCopies:
    """Hold the ids of tasks without a mail, and of tasks with several mails."""

    missing: list[str]
    twice: list[str]


def copies_of(events: Iterable[MarketEvent], copies: Counter[str]) -> MailCopies:
    """Find events without a mail, or with several.

    Args:
        events: the events.
        copies: Message-ID → number of mails in the maildir.
    """
    found = [(event.task_id, copies[event.mail_id]) for event in events]
    return MailCopies(
        missing=[task_id for task_id, count in found if count == 0],
        twice=[task_id for task_id, count in found if count > 1],
    )


@dataclass(frozen=True, slots=True)
class MailFigures:
    """Hold the figures of the events of one kind, or of all events.

    Attributes:
        priority: priority of the tasks; empty for all events.
        events: number of events.
        sent: number of events with a mail.
        retried: number of mails of this run that needed more than one attempt.
        retries: number of these additional attempts, after refusals and killed workers.
        wait_median_s: median seconds that mails of this run waited; None if there are none. The
            wait begins with the enqueue (for a delayed mail, at its time) by the producer's clock.
            It ends with the mail server's reply by the mail server's clock.
        wait_longest_s: the longest of these waits; None if there are none.
        over_time: number of mails stored in each of `SLICES` equal parts of the run.
    """

    priority: str
    events: int
    sent: int
    retried: int
    retries: int
    wait_median_s: float | None
    wait_longest_s: float | None
    over_time: list[int]


@dataclass(frozen=True, slots=True)
class MailHistory:
    """Hold the deliveries of a run from *began_at* to *ended_at* (epoch seconds)."""

    deliveries: Sequence[MailArrival]
    began_at: float
    ended_at: float

    def figures(
        self, events: Sequence[MarketEvent], missing: set[str], priority: str = ""
    ) -> MailFigures:
        """Return the figures of *events*. Of several deliveries of a mail use the first.

        Args:
            events: the events.
            missing: ids of tasks without a mail.
            priority: priority of the tasks of these events.
        """
        first = {mail.mail_id: mail for mail in reversed(self.deliveries)}
        found = [(event, first[event.mail_id]) for event in events if event.mail_id in first]
        waits = [mail.answered_at - mail.enqueued_at - event.delay_s for event, mail in found]
        slices = Counter(self._slice_of(mail.answered_at) for _, mail in found)
        return MailFigures(
            priority=priority,
            events=len(events),
            sent=sum(event.task_id not in missing for event in events),
            retried=sum(mail.attempt > 1 for _, mail in found),
            retries=sum(mail.attempt - 1 for _, mail in found),
            wait_median_s=median(waits) if waits else None,
            wait_longest_s=max(waits, default=None),
            over_time=[slices[number] for number in range(SLICES)],
        )

    def by_kind(
        self, events: Sequence[MarketEvent], priorities: Mapping[str, str], missing: set[str]
    ) -> dict[str, MailFigures]:
        """Return kind of event → its figures, and under `all` those of all events."""
        kinds = {event.kind for event in events}
        rows = {
            kind: self.figures([e for e in events if e.kind == kind], missing, priority)
            for kind, priority in priorities.items()
            if kind in kinds
        }
        return rows | {"all": self.figures(events, missing)}

    def _slice_of(self, instant: float) -> int:
        """Return the number of the part of the run in which *instant* is. Times before and after
        the run belong to the first and the last part."""
        seconds = self.ended_at - self.began_at
        part = SLICES * (instant - self.began_at) / seconds if seconds > 0 else 0
        return min(SLICES - 1, max(0, int(part)))


def given_back(logs: Iterable[str]) -> set[str]:
    """Return the ids of tasks that workers gave back, from their logs.

    There is no other evidence, because a claim that is given back costs no attempt and leaves no
    mail. A worker logs it before it calls the server, so the log has it even if the worker is
    killed then.
    """
    return {found[1] for log in logs for found in GIVEN_BACK.finditer(log)}


def once_at_least(found: MailCopies, mails: int) -> Invariant:
    """Check that there is a mail for each event."""
    missing = tuple(f"there is no mail of {task}" for task in found.missing)
    return Invariant("queue", "an acknowledged task runs", mails, "mails", missing)


def dead_with_a_reason(garbled: Sequence[MarketEvent], dead: Mapping[str, str]) -> Invariant:
    """Check that exactly the garbled tasks are dead-lettered, each with a reason."""
    expected = {event.task_id for event in garbled}
    problems = [f"{task} is not dead-lettered" for task in sorted(expected - dead.keys())]
    problems += [f"{task} is dead without a reason" for task in sorted(dead) if not dead[task]]
    problems += [f"{task} is dead: {dead[task]}" for task in sorted(dead.keys() - expected)]
    promise = "what cannot run is dead, with a reason"
    return Invariant("queue", promise, len(expected), "garbled tasks", tuple(problems))


def not_too_often(found: MailCopies, kills: int) -> Invariant:
    """Check that no more mails were sent twice than the killed workers may have repeated."""
    allowed, twice = kills * REPEATED_AT_MOST, len(found.twice)
    promise = f"a kill repeats at most {REPEATED_AT_MOST} of them"
    problems = (f"{twice} mails came twice, after {kills} kills",) if twice > allowed else ()
    return Invariant("queue", promise, kills, "kills", problems)


def not_before_its_time(
    events: Iterable[MarketEvent], arrivals: Iterable[MailArrival]
) -> Invariant:
    """Check that no worker began a delayed mail before its time."""
    delays = {event.mail_id: event for event in events if event.delay_s}
    arrived = [(delays[mail.mail_id], mail) for mail in arrivals if mail.mail_id in delays]
    early = {e.task_id for e, mail in arrived if mail.started_at < mail.enqueued_at + e.delay_s}
    problems = tuple(f"{task} was begun before its time" for task in sorted(early))
    delayed = len({event.task_id for event, _ in arrived})
    return Invariant("queue", "never before its time", delayed, "delayed mails", problems)


def in_order(found: ClaimOrder) -> Invariant:
    """Check that no task was claimed before another one that should have come first.

    Only proven cases count as problems; see `ClaimOrder`.
    """
    problems = [f"{task} was claimed while a more urgent one waited" for task in found.passed_over]
    problems += [f"{task} was claimed before one enqueued earlier" for task in found.out_of_turn]
    promise = "high before low, due first, first in first out"
    return Invariant("queue", promise, found.claims, "claims", tuple(problems))
