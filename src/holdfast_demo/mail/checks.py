"""The checks of the mails, and their figures.

Everything follows from the events, the Message-IDs in the maildir, the deliveries of this run and
the logs of its workers; nothing here asks a server or a clock.
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
"""Parts of the time of a run, to show what was sent when."""

REPEATED_AT_MOST: Final = 64
"""Finished tasks that a kill may repeat."""

GIVEN_BACK: Final = re.compile(
    r" WARNING task (\S+) "
    r"(?:of .*: it is stopped|of .* is given back: |did not end in time, given back)"
)


@dataclass(frozen=True, slots=True)
class MailCopies:
    """Ids of tasks without a mail, and of those with more than one."""

    missing: list[str]
    twice: list[str]


def copies_of(events: Iterable[MarketEvent], copies: Counter[str]) -> MailCopies:
    """Compare every event with *copies*: how often each Message-ID is in the maildir."""
    found = [(event.task_id, copies[event.mail_id]) for event in events]
    return MailCopies(
        missing=[task_id for task_id, count in found if count == 0],
        twice=[task_id for task_id, count in found if count > 1],
    )


@dataclass(frozen=True, slots=True)
class MailFigures:
    """What became of the events of one kind, or of all.

    Attributes:
        priority: the priority of their tasks; empty for all.
        events: their number.
        sent: how many have their mail.
        retried: how many mails of this run needed more than one attempt.
        retries: how many more; refusals and killed workers alike.
        wait_median_s: from the enqueue, for delayed mails from their time (producer's clock), to
            the mail server's answer (its clock), over the mails of this run; None if there is none.
        wait_longest_s: the longest of these waits.
        over_time: mails stored in each of `SLICES` equal parts of the run.
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
    """The deliveries of a run that lasted from *began_at* to *ended_at*, in epoch seconds."""

    deliveries: Sequence[MailArrival]
    began_at: float
    ended_at: float

    def figures(
        self, events: Sequence[MarketEvent], missing: set[str], priority: str = ""
    ) -> MailFigures:
        """Return the figures of *events*; the first delivery of a mail counts."""
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
        """Return the figures of each kind of event that there is, and of `all`."""
        kinds = {event.kind for event in events}
        rows = {
            kind: self.figures([e for e in events if e.kind == kind], missing, priority)
            for kind, priority in priorities.items()
            if kind in kinds
        }
        return rows | {"all": self.figures(events, missing)}

    def _slice_of(self, instant: float) -> int:
        """Return the part of the run; before and after count as its ends."""
        seconds = self.ended_at - self.began_at
        part = SLICES * (instant - self.began_at) / seconds if seconds > 0 else 0
        return min(SLICES - 1, max(0, int(part)))


def given_back(logs: Iterable[str]) -> set[str]:
    """Return the ids of tasks that workers gave back, as their logs say and nothing else does.

    A claim that is given back costs no attempt and leaves no mail. A worker logs it before it calls
    the server, so it is there even if the worker is killed right after it.
    """
    return {found[1] for log in logs for found in GIVEN_BACK.finditer(log)}


def once_at_least(found: MailCopies, mails: int) -> Invariant:
    """Check that there is a mail for everything that happened."""
    missing = tuple(f"there is no mail of {task}" for task in found.missing)
    return Invariant("queue", "an acknowledged task runs", mails, "mails", missing)


def dead_with_a_reason(garbled: Sequence[MarketEvent], dead: Mapping[str, str]) -> Invariant:
    """Check that what cannot run is dead, each with a reason, and nothing else is."""
    expected = {event.task_id for event in garbled}
    problems = [f"{task} is not dead-lettered" for task in sorted(expected - dead.keys())]
    problems += [f"{task} is dead without a reason" for task in sorted(dead) if not dead[task]]
    problems += [f"{task} is dead: {dead[task]}" for task in sorted(dead.keys() - expected)]
    promise = "what cannot run is dead, with a reason"
    return Invariant("queue", promise, len(expected), "garbled tasks", tuple(problems))


def not_too_often(found: MailCopies, kills: int) -> Invariant:
    """Check that no more mails are there twice than killed workers may have sent twice."""
    allowed, twice = kills * REPEATED_AT_MOST, len(found.twice)
    promise = f"a kill repeats at most {REPEATED_AT_MOST} of them"
    problems = (f"{twice} mails came twice, after {kills} kills",) if twice > allowed else ()
    return Invariant("queue", promise, kills, "kills", problems)


def not_before_its_time(
    events: Iterable[MarketEvent], arrivals: Iterable[MailArrival]
) -> Invariant:
    """Check that no delayed mail was begun before its time, stored or refused."""
    delays = {event.mail_id: event for event in events if event.delay_s}
    arrived = [(delays[mail.mail_id], mail) for mail in arrivals if mail.mail_id in delays]
    early = {e.task_id for e, mail in arrived if mail.started_at < mail.enqueued_at + e.delay_s}
    problems = tuple(f"{task} was begun before its time" for task in sorted(early))
    delayed = len({event.task_id for event, _ in arrived})
    return Invariant("queue", "never before its time", delayed, "delayed mails", problems)


def in_order(found: ClaimOrder) -> Invariant:
    """Check that nothing proves that other mails should have been claimed first."""
    problems = [f"{task} was claimed while a better one waited" for task in found.passed_over]
    problems += [f"{task} was claimed before one in front of it" for task in found.out_of_turn]
    promise = "high before low, due first, first in first out"
    return Invariant("queue", promise, found.claims, "claims", tuple(problems))
