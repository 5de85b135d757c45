"""Check the order in which workers claimed mails, as far as the records of a run prove it.

- Each mail contains the token of its claim. It is the time of the claim by the server's clock, in
  microseconds.
- The producer records, by its own clock, when it began and ended the call that enqueued a mail.
- The records limit how far the two clocks can be apart, because no mail is claimed before the call
  that enqueues it. Differences within these limits do not count as a wrong order.
- When mails were begun or stored proves nothing, because several workers send at the same time.
- A claim of a mail that did not reach the mail server has no record. So only the wait for a first
  attempt is known, and only if the claim was not given back (`given_back`).
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort
from collections import deque
from collections.abc import Container, Iterable, Mapping
from dataclasses import dataclass, field
from itertools import accumulate
from math import inf
from statistics import median
from typing import Final, NamedTuple

from .events import Enqueued, MarketEvent
from .smtp_server import MailArrival

PRIORITIES: Final = {"high": 0, "medium": 1, "low": 2}
DUE, READY = 0, 1
ROUNDING_S: Final = 0.002  # delays and the clock that they are held to are in whole ms


class ClockLead(NamedTuple):
    """Hold the least and the most seconds by which the server's clock may be ahead of the
    producer's clock."""

    least_s: float
    most_s: float


class PriorityLine(NamedTuple):
    """Name a list in which a queue has waiting tasks. The smaller one is served first.

    Attributes:
        priority: a value of `PRIORITIES`.
        readiness: `DUE` (delayed tasks that are due) or `READY`.
    """

    priority: int
    readiness: int


@dataclass(frozen=True, slots=True)
class MailClaim:
    """Hold one claim of a mail.

    Attributes:
        event: the event of the mail.
        line: the list from which the task was claimed.
        claimed_at: when the task was claimed, by the server's clock (epoch seconds).
        enqueued: when the mail was enqueued; None if this may not be its first claim.
    """

    event: MarketEvent
    line: PriorityLine
    claimed_at: float
    enqueued: Enqueued | None

    @property
    def first(self) -> Enqueued:
        """Return `enqueued` of a claim that is known to be the first one."""
        assert self.enqueued is not None
        return self.enqueued

    @property
    def not_before(self) -> float:
        """Return the earliest time at which the mail could be claimed, by the producer's clock."""
        return self.first.called_at + self.event.delay_s

    @property
    def queued_by(self) -> float:
        """Return the time from which the mail certainly could be claimed, by the producer's
        clock."""
        late_s = self.event.delay_s + ROUNDING_S if self.event.delay_s else 0.0
        return self.first.returned_at + late_s


@dataclass(frozen=True, slots=True)
class OvertakenMails:
    """Hold how many queued mails the mails of one kind overtook.

    Attributes:
        mails: number of mails of the kind.
        median: median number of mails that such a mail overtook.
        most: highest number of mails that such a mail overtook.
    """

    mails: int
    median: float
    most: int


@dataclass(frozen=True, slots=True)
class ClaimOrder:
    """Hold what the records prove about the order of claims.

    Attributes:
        judged: False if the records prove nothing: there are none, or the clocks contradict them.
        claims: number of claims.
        doubt_s: uncertainty of the difference between the clocks, in seconds. A shorter wait proves
            nothing.
        passed_over: ids of tasks that were claimed while a more urgent task certainly waited: one
            of a higher priority, or a delayed one of the same priority that was due.
        out_of_turn: ids of tasks that were claimed before a task of the same priority that was
            enqueued earlier.
        overtaking: `reset` → how many mails of lower priority password resets overtook; `sale` →
            how many mails of the same priority sales overtook.
    """

    judged: bool = False
    claims: int = 0
    doubt_s: float = 0.0
    passed_over: list[str] = field(default_factory=list)
    out_of_turn: list[str] = field(default_factory=list)
    overtaking: dict[str, OvertakenMails] = field(default_factory=dict)

    @property
    def kept(self) -> bool:
        """Return whether the records do not prove a wrong order."""
        return not self.passed_over and not self.out_of_turn


def judge(
    events: Iterable[MarketEvent],
    priorities: Mapping[str, str],
    enqueued: Mapping[str, Enqueued],
    arrivals: Iterable[MailArrival],
    given_back: Container[str] = (),
) -> ClaimOrder:
    """Check whether workers claimed mails in the promised order, and return the evidence.

    Args:
        events: the events of the mails.
        priorities: kind of event → priority.
        enqueued: Message-ID → when this run enqueued the mail.
        arrivals: the mails that the mail server stored or refused. They contain the claims.
        given_back: ids of tasks that workers gave back, for which the first claim is unknown.
    """
    by_mail = {event.mail_id: event for event in events}
    arrived = [mail for mail in arrivals if mail.token and mail.mail_id in by_mail]
    own = [mail for mail in arrived if _is_own(mail, enqueued)]
    lead = _lead(own, enqueued)
    if lead is None:
        return ClaimOrder()
    first = {
        id(mail): enqueued[mail.mail_id]
        for mail in own
        if mail.attempt == 1 and by_mail[mail.mail_id].task_id not in given_back
    }
    claims = [
        _claim(mail, by_mail[mail.mail_id], priorities, first.get(id(mail))) for mail in arrived
    ]
    return ClaimOrder(
        judged=True,
        claims=len(claims),
        doubt_s=lead.most_s - lead.least_s,
        passed_over=_passed_over(claims, lead.most_s),
        out_of_turn=_out_of_turn(claims),
        overtaking=_overtaking(claims),
    )


def _is_own(mail: MailArrival, enqueued: Mapping[str, Enqueued]) -> bool:
    """Return whether this run, not an earlier one, enqueued the mail that arrived."""
    own = enqueued.get(mail.mail_id)
    return own is not None and mail.enqueued_at + 0.001 > own.called_at  # the mail has whole ms


def _lead(own: list[MailArrival], enqueued: Mapping[str, Enqueued]) -> ClockLead | None:
    """Return the limits of the difference between the clocks; None if the records contradict each
    other, or if there are none."""
    if not own:
        return None
    most_s = min(mail.claimed_at - enqueued[mail.mail_id].called_at for mail in own)
    least_s = max(mail.claimed_at - mail.started_at for mail in own)
    return ClockLead(least_s, most_s) if least_s <= most_s else None


def _claim(
    mail: MailArrival, event: MarketEvent, priorities: Mapping[str, str], enqueued: Enqueued | None
) -> MailClaim:
    # A mail that is tried again also waits in the list of delayed tasks.
    readiness = DUE if event.delay_s or mail.attempt > 1 else READY
    line = PriorityLine(PRIORITIES[priorities[event.kind]], readiness)
    return MailClaim(event, line, mail.claimed_at, enqueued)


def _passed_over(claims: list[MailClaim], lead_s: float) -> list[str]:
    """Return the ids of tasks that were claimed while a more urgent task certainly waited."""
    found = set[str]()
    for line in {claim.line for claim in claims}:
        waiting = sorted(
            (claim.queued_by + lead_s, claim.claimed_at)
            for claim in claims
            if claim.enqueued and claim.line == line
        )
        since = [start for start, _ in waiting]
        until = list(accumulate((end for _, end in waiting), max))
        for claim in claims:
            waited = bisect_left(since, claim.claimed_at) if claim.line > line else 0
            if waited and until[waited - 1] > claim.claimed_at:
                found.add(claim.event.task_id)
    return sorted(found)


def _out_of_turn(claims: list[MailClaim]) -> list[str]:
    """Return the ids of tasks that were claimed before one that was enqueued earlier. Skip delayed
    tasks, because they have no such order."""
    latest: dict[PriorityLine, float] = {}
    found = []
    ready = [claim for claim in claims if claim.enqueued and claim.line.readiness == READY]
    for claim in sorted(ready, key=lambda claim: claim.first.number):
        if claim.claimed_at < latest.get(claim.line, -inf):
            found.append(claim.event.task_id)
        else:
            latest[claim.line] = claim.claimed_at
    return found


def _overtaking(claims: list[MailClaim]) -> dict[str, OvertakenMails]:
    first = [claim for claim in claims if claim.enqueued]
    ready = [claim for claim in first if claim.line.readiness == READY]
    found = {}
    for kind in "reset", "sale":
        front = [claim for claim in first if claim.event.kind == kind]
        if not front:
            continue
        line = front[0].line
        # For a sale, count only mails of its own priority, because it always precedes lower
        # priorities.
        behind = [c for c in ready if c.line > line and (kind == "reset" or c.line[0] == line[0])]
        counts = _overtaken(front, behind)
        found[kind] = OvertakenMails(len(counts), median(counts), max(counts))
    return found


def _overtaken(front: list[MailClaim], behind: list[MailClaim]) -> list[int]:
    """Return, for each of *front*, how many of *behind* were queued earlier but claimed later."""
    coming = deque(sorted(behind, key=lambda claim: claim.queued_by))
    queued: list[float] = []
    counts = []
    for claim in sorted(front, key=lambda claim: claim.not_before):
        while coming and coming[0].queued_by <= claim.not_before:
            insort(queued, coming.popleft().claimed_at)
        counts.append(len(queued) - bisect_right(queued, claim.claimed_at))
    return counts
