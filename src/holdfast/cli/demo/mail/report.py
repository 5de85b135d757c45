"""What the demo says at the end: the check of every event, and the figures of this run.

All of it follows from the events, the Message-IDs in the maildir and the deliveries of this run;
nothing here asks a server or a clock.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from statistics import median
from typing import Any

from .events import Event
from .order import Order
from .smtp import Delivery, Refused

SLICES = 20  # of the time of a run, to show what was sent when


@dataclass(frozen=True, slots=True)
class Check:
    """Which events have no mail and which have more than one, as task ids."""

    missing: list[str]
    twice: list[str]


def check(events: Iterable[Event], copies: Counter[str]) -> Check:
    """Compare every event with *copies*: how often each Message-ID is in the maildir."""
    found = [(event.task_id, copies[event.mail_id]) for event in events]
    return Check(
        missing=[task_id for task_id, count in found if count == 0],
        twice=[task_id for task_id, count in found if count > 1],
    )


@dataclass(frozen=True, slots=True)
class Figures:
    """What became of the events of one kind, or of all.

    Attributes:
        priority: of their tasks; empty for all.
        events: how many they are.
        sent: how many have their mail.
        retried: how many mails of this run needed more than one attempt.
        retries: how many attempts these needed more, refusals and killed workers alike.
        wait_median_s: from the enqueue, for delayed mails from their time (producer's clock), until
            the mail was stored (mail server's clock), over the mails of this run; None when there
            were none.
        wait_longest_s: the longest of these waits.
        over_time: how many mails were stored in each of `SLICES` equal parts of the run.
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
class Span:
    """From when to when a run lasted, in epoch seconds."""

    began_at: float
    ended_at: float

    @property
    def seconds(self) -> float:
        """How long that was."""
        return self.ended_at - self.began_at

    def slice_of(self, instant: float) -> int:
        """In which of the equal parts of the run it was; before and after count as its ends."""
        part = SLICES * (instant - self.began_at) / self.seconds if self.seconds > 0 else 0
        return min(SLICES - 1, max(0, int(part)))


def figures(
    events: Sequence[Event],
    missing: set[str],
    deliveries: list[Delivery],
    span: Span,
    priority: str = "",
) -> Figures:
    """The figures of *events*; of a mail that was delivered twice the first delivery counts."""
    first = {mail.mail_id: mail for mail in reversed(deliveries)}
    found = [(e, first[e.mail_id]) for e in events if e.mail_id in first]
    waits = [mail.answered_at - mail.enqueued_at - event.delay_s for event, mail in found]
    slices = Counter(span.slice_of(mail.answered_at) for _, mail in found)
    return Figures(
        priority=priority,
        events=len(events),
        sent=sum(event.task_id not in missing for event in events),
        retried=sum(mail.attempt > 1 for _, mail in found),
        retries=sum(mail.attempt - 1 for _, mail in found),
        wait_median_s=median(waits) if waits else None,
        wait_longest_s=max(waits, default=None),
        over_time=[slices[number] for number in range(SLICES)],
    )


def figures_by_kind(
    events: Sequence[Event],
    priorities: Mapping[str, str],
    missing: set[str],
    deliveries: list[Delivery],
    span: Span,
) -> dict[str, Figures]:
    """The figures of each kind of event that has a priority, and of `all`."""
    by_kind = {
        kind: figures([e for e in events if e.kind == kind], missing, deliveries, span, priority)
        for kind, priority in priorities.items()
    }
    return by_kind | {"all": figures(events, missing, deliveries, span)}


@dataclass(frozen=True, slots=True)
class Punctuality:
    """Whether delayed mails kept their time.

    Attributes:
        delayed: how many of those that came to the mail server in this run were delayed.
        early: task ids of those that a worker began before their time, whatever became of them.
    """

    delayed: int
    early: list[str]


def punctuality(events: Iterable[Event], arrivals: Iterable[Delivery]) -> Punctuality:
    """Hold every arrival, stored or refused, to the time before which it must not be begun."""
    delays = {event.mail_id: event for event in events if event.delay_s}
    arrived = [(delays[mail.mail_id], mail) for mail in arrivals if mail.mail_id in delays]
    early = {e.task_id for e, mail in arrived if mail.started_at < mail.enqueued_at + e.delay_s}
    return Punctuality(len({event.task_id for event, _ in arrived}), sorted(early))


@dataclass(frozen=True, slots=True)
class Report:
    """One run, and the state of the job after it.

    Attributes:
        kinds: figures by kind of event, who goes first stands first, and of `all`.
        seconds: from the first enqueue to the last mail stored.
        sent_before: events whose mail an earlier run on the same folder had sent.
        sent_now: events whose mail this run sent.
        refused: what the demo's server refused; None with another server.
        workers_replaced: how many workers died.
        order: whether the queue kept its order, as far as this can be proven.
        punctuality: whether delayed mails kept their time.
        unfinished: tasks that were still queued or running when the demo gave up waiting.
        dead_in_all: how many tasks were given up.
        dead: the reasons of these, of 1,000 at most.
        maildir: the folder that was checked; None when the mails went to another server, whose
            mails cannot be seen: then *missing* are the dead, and nothing is known of waits.
    """

    kinds: dict[str, Figures]
    seconds: float
    sent_before: int
    sent_now: int
    refused: Refused | None
    workers_replaced: int
    order: Order
    punctuality: Punctuality
    unfinished: int
    missing: list[str]
    twice: list[str]
    dead_in_all: int
    dead: dict[str, str]
    maildir: str | None

    @property
    def ok(self) -> bool:
        """Nothing is missing, early or proven to be out of order, and the queue is empty."""
        kept = self.order.kept and not self.punctuality.early
        return kept and not self.missing and not self.unfinished

    @property
    def mails_per_second(self) -> float:
        """Of this run, with the start of the workers and the waits between attempts."""
        return self.sent_now / self.seconds if self.seconds else 0.0

    def as_json(self) -> dict[str, Any]:
        """All fields and what follows from them."""
        return {"ok": self.ok, "mails_per_second": self.mails_per_second, **asdict(self)}
