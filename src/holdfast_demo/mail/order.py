"""The order in which the mails were claimed, as far as the records of a run prove it.

Every mail carries the token of its claim, which is the server's clock at that moment in
microseconds. The producer noted by its own clock before and after which instant it enqueued the
mail. How far the two clocks can be apart follows from the records: no mail is claimed before its
enqueue was called. What lies within that doubt is not held against the queue.

Mails are sent side by side, so nothing is concluded from when they were begun or stored. A claim
of a mail that never reached the mail server left no record: how long the mail waited for a first
one is unknown. A claim that was given back does not even count as an attempt, so those are an
argument (`given_back`).
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
    """How far the server's clock is ahead of the producer's and the workers'."""

    least_s: float
    most_s: float


class PriorityLine(NamedTuple):
    """One of the lists in which a queue holds its tasks; the smaller one is served first."""

    priority: int
    readiness: int


@dataclass(frozen=True, slots=True)
class MailClaim:
    """One claim of a mail, by the server's clock; *enqueued* only if it was the first one."""

    event: MarketEvent
    line: PriorityLine
    claimed_at: float
    enqueued: Enqueued | None

    @property
    def first(self) -> Enqueued:
        """Return when the mail of this first claim was enqueued."""
        assert self.enqueued is not None
        return self.enqueued

    @property
    def not_before(self) -> float:
        """Return until when it surely could not be claimed, by the producer's clock."""
        return self.first.called_at + self.event.delay_s

    @property
    def queued_by(self) -> float:
        """Return from when on it surely could be claimed, by the producer's clock."""
        late_s = self.event.delay_s + ROUNDING_S if self.event.delay_s else 0.0
        return self.first.returned_at + late_s


@dataclass(frozen=True, slots=True)
class OvertakenMails:
    """How many queued mails the mails of one kind overtook.

    Attributes:
        mails: mails of the kind.
        median, most: of the numbers of mails that each of them overtook.
    """

    mails: int
    median: float
    most: int


@dataclass(frozen=True, slots=True)
class ClaimOrder:
    """What the records prove about the order; the lists hold task ids.

    Attributes:
        judged: False if they prove nothing: no records, or clocks that do not run alike.
        claims: number of claims.
        doubt_s: seconds that the two clocks leave open: a shorter wait proves nothing.
        passed_over: claimed while a mail that goes first surely waited: one of a higher priority,
            or a delayed one of the same priority that was due.
        out_of_turn: claimed before one of the same priority that was enqueued earlier.
        overtaking: by password resets, queued mails of lower priority; by sales that begin, those
            of their own priority that were queued when the sale was due.
    """

    judged: bool = False
    claims: int = 0
    doubt_s: float = 0.0
    passed_over: list[str] = field(default_factory=list)
    out_of_turn: list[str] = field(default_factory=list)
    overtaking: dict[str, OvertakenMails] = field(default_factory=dict)

    @property
    def kept(self) -> bool:
        """Return whether nothing proves that the order was broken."""
        return not self.passed_over and not self.out_of_turn


def judge(
    events: Iterable[MarketEvent],
    priorities: Mapping[str, str],
    enqueued: Mapping[str, Enqueued],
    arrivals: Iterable[MailArrival],
    given_back: Container[str] = (),
) -> ClaimOrder:
    """Return the order of the claims; their mails have reached the mail server.

    Args:
        events: what was mailed.
        priorities: priorities by kind of event.
        enqueued: the mails that this run enqueued, by Message-ID.
        arrivals: the mails that the server stored or refused.
        given_back: ids of tasks that workers gave back: how long these waited is unknown.
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
    """Return whether this run enqueued it; when an earlier run did, is unknown."""
    own = enqueued.get(mail.mail_id)
    return own is not None and mail.enqueued_at + 0.001 > own.called_at  # it is in whole ms


def _lead(own: list[MailArrival], enqueued: Mapping[str, Enqueued]) -> ClockLead | None:
    """Return None if the records contradict each other, or if there are none."""
    if not own:
        return None
    most_s = min(mail.claimed_at - enqueued[mail.mail_id].called_at for mail in own)
    least_s = max(mail.claimed_at - mail.started_at for mail in own)
    return ClockLead(least_s, most_s) if least_s <= most_s else None


def _claim(
    mail: MailArrival, event: MarketEvent, priorities: Mapping[str, str], enqueued: Enqueued | None
) -> MailClaim:
    # A mail that is tried again waits among the delayed ones, too.
    readiness = DUE if event.delay_s or mail.attempt > 1 else READY
    line = PriorityLine(PRIORITIES[priorities[event.kind]], readiness)
    return MailClaim(event, line, mail.claimed_at, enqueued)


def _passed_over(claims: list[MailClaim], lead_s: float) -> list[str]:
    """Return the mails that were claimed while a better one surely waited."""
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
    """Return the mails that were claimed before an earlier one; the due ones have no turn."""
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
        # Those of a lower priority wait longer anyway; a sale overtakes within its own.
        behind = [c for c in ready if c.line > line and (kind == "reset" or c.line[0] == line[0])]
        counts = _overtaken(front, behind)
        found[kind] = OvertakenMails(len(counts), median(counts), max(counts))
    return found


def _overtaken(front: list[MailClaim], behind: list[MailClaim]) -> list[int]:
    """Return, for each of *front*, how many of *behind* were queued before and claimed after it."""
    coming = deque(sorted(behind, key=lambda claim: claim.queued_by))
    queued: list[float] = []
    counts = []
    for claim in sorted(front, key=lambda claim: claim.not_before):
        while coming and coming[0].queued_by <= claim.not_before:
            insort(queued, coming.popleft().claimed_at)
        counts.append(len(queued) - bisect_right(queued, claim.claimed_at))
    return counts
