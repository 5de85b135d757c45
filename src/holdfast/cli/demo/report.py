"""What the demo says at the end: the check of every event, and the figures of this run.

All of it follows from the events, the Message-IDs in the maildir and the deliveries of this run;
nothing here asks a server or a clock.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from math import ceil
from statistics import fmean
from typing import Any

from .events import Event
from .smtp import Delivery, Refused


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
    """What became of some events.

    Attributes:
        events: how many they are.
        sent: how many have their mail.
        retried: how many mails of this run needed more than one attempt.
        retries: how many attempts these needed more, refusals and killed workers alike.
        wait_mean_s: from the enqueue (producer's clock) to the start of the attempt that succeeded
            (worker's clock), over the mails of this run; None when there were none.
        wait_p99_s: 99 of 100 mails waited no longer.
    """

    events: int
    sent: int
    retried: int
    retries: int
    wait_mean_s: float | None
    wait_p99_s: float | None


def figures(events: Sequence[Event], missing: set[str], deliveries: list[Delivery]) -> Figures:
    """The figures of *events*; of a mail that was delivered twice the first delivery counts."""
    first = {mail.mail_id: mail for mail in reversed(deliveries)}
    mails = [first[event.mail_id] for event in events if event.mail_id in first]
    waits = sorted(mail.started_at - mail.enqueued_at for mail in mails)
    return Figures(
        events=len(events),
        sent=sum(event.task_id not in missing for event in events),
        retried=sum(mail.attempt > 1 for mail in mails),
        retries=sum(mail.attempt - 1 for mail in mails),
        wait_mean_s=fmean(waits) if waits else None,
        wait_p99_s=percentile(waits, 99) if waits else None,
    )


def percentile(ordered: Sequence[float], percent: float) -> float:
    """The smallest value that at least *percent* of all do not exceed (nearest rank)."""
    return ordered[ceil(len(ordered) * percent / 100) - 1]


@dataclass(frozen=True, slots=True)
class Report:
    """One run, and the state of the job after it.

    Attributes:
        kinds: figures by kind of event, `all` last.
        seconds: from the first enqueue to the last mail stored.
        sent_before: events whose mail an earlier run on the same folder had sent.
        sent_now: events whose mail this run sent.
        refused: what the demo's server refused; None with another server.
        workers_replaced: how many workers died.
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
    unfinished: int
    missing: list[str]
    twice: list[str]
    dead_in_all: int
    dead: dict[str, str]
    maildir: str | None

    @property
    def ok(self) -> bool:
        """Every event has its mail, as far as can be seen, and the queue is empty."""
        return not self.missing and not self.unfinished

    @property
    def mails_per_second(self) -> float:
        """Of this run, with the start of the workers and the waits between attempts."""
        return self.sent_now / self.seconds if self.seconds else 0.0

    def as_json(self) -> dict[str, Any]:
        """All fields and what follows from them."""
        return {"ok": self.ok, "mails_per_second": self.mails_per_second, **asdict(self)}
