"""In which order the mails were claimed, as far as the records of a run prove it.

Every mail carries the token of its claim, the server's clock at that moment in microseconds, and
the producer noted by its own clock before and after which instant the mail was put in line. How
far the two clocks can be apart follows from the records: no mail is claimed before its enqueue was
asked for. Whatever lies within that doubt is not held against the queue.

Mails are sent side by side, so nothing is concluded from when they were begun or stored. A claim
that never came as far as the mail server left no record: a first one of that kind leaves open how
long the mail waited. A claim that was given back does not even count as an attempt, so the judge
has to be told of those (`given_back`).
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort
from collections import deque
from collections.abc import Container, Iterable, Mapping
from dataclasses import dataclass, field
from itertools import accumulate
from math import inf
from statistics import median
from typing import NamedTuple

from .events import Event
from .smtp import Delivery

PRIORITIES = {"high": 0, "medium": 1, "low": 2}
DUE, READY = 0, 1
ROUNDING_S = 0.002  # a delay ends at a whole millisecond, and so does the clock that it is held to


@dataclass(frozen=True, slots=True)
class Place:
    """Where the producer put a mail; the instants are its own clock's.

    Attributes:
        number: how many it had put in line before.
        called_at: it was not in line before this instant.
        returned_at: it was in line from this instant on, or waited for its time.
    """

    number: int
    called_at: float
    returned_at: float


class Lead(NamedTuple):
    """How far the clock of the queue's server is ahead of the producer's and the workers'."""

    least_s: float
    most_s: float


class Line(NamedTuple):
    """One of the lines in which a queue holds its tasks; the smaller one is served first."""

    priority: int
    readiness: int


@dataclass(frozen=True, slots=True)
class Claim:
    """One claim of a mail, by the server's clock; *place* only if it was the first one."""

    event: Event
    line: Line
    claimed_at: float
    place: Place | None

    @property
    def first(self) -> Place:
        """The place from which this claim took the mail."""
        assert self.place is not None
        return self.place

    @property
    def not_before(self) -> float:
        """By the producer's clock: until then it surely could not be claimed."""
        return self.first.called_at + self.event.delay_s

    @property
    def in_line_by(self) -> float:
        """By the producer's clock: from then on it surely could be claimed."""
        late_s = self.event.delay_s + ROUNDING_S if self.event.delay_s else 0.0
        return self.first.returned_at + late_s


@dataclass(frozen=True, slots=True)
class Overtaking:
    """Ahead of how many others in line the mails of one kind went.

    Attributes:
        mails: how many of the kind were looked at.
        median, most: of the numbers of mails that each of them overtook.
    """

    mails: int
    median: float
    most: int


@dataclass(frozen=True, slots=True)
class Order:
    """What the records say about the order; the lists hold task ids.

    Attributes:
        judged: False when they say nothing: no records, or clocks that do not run alike.
        claims: how many claims they show.
        doubt_s: how much the two clocks leave open: a shorter wait proves nothing.
        passed_over: claimed while a mail that goes first surely waited: one of a higher priority,
            or a delayed one of the same whose time had come.
        out_of_turn: claimed before one that was put in the same line earlier.
        overtaking: of password resets, the mails of lower priority that were in line before them;
            of sales that begin, those of their own priority that were when their time came.
    """

    judged: bool = False
    claims: int = 0
    doubt_s: float = 0.0
    passed_over: list[str] = field(default_factory=list)
    out_of_turn: list[str] = field(default_factory=list)
    overtaking: dict[str, Overtaking] = field(default_factory=dict)

    @property
    def kept(self) -> bool:
        """Nothing proves that the order was not kept."""
        return not self.passed_over and not self.out_of_turn


def judge(
    events: Iterable[Event],
    priorities: Mapping[str, str],
    places: Mapping[str, Place],
    arrivals: Iterable[Delivery],
    given_back: Container[str] = (),
) -> Order:
    """The order of all claims whose mails came as far as the mail server.

    Args:
        events: what was mailed.
        priorities: by kind of event.
        places: by Message-ID, of the mails that this run put in line.
        arrivals: the mails that the server stored or refused.
        given_back: ids of tasks that workers gave back: nobody knows how long these waited.
    """
    by_mail = {event.mail_id: event for event in events}
    arrived = [mail for mail in arrivals if mail.token and mail.mail_id in by_mail]
    own = [mail for mail in arrived if _is_own(mail, places)]
    lead = _lead(own, places)
    if lead is None:
        return Order()
    first = {
        id(mail): places[mail.mail_id]
        for mail in own
        if mail.attempt == 1 and by_mail[mail.mail_id].task_id not in given_back
    }
    claims = [
        _claim(mail, by_mail[mail.mail_id], priorities, first.get(id(mail))) for mail in arrived
    ]
    return Order(
        judged=True,
        claims=len(claims),
        doubt_s=lead.most_s - lead.least_s,
        passed_over=_passed_over(claims, lead.most_s),
        out_of_turn=_out_of_turn(claims),
        overtaking=_overtaking(claims),
    )


def _is_own(mail: Delivery, places: Mapping[str, Place]) -> bool:
    """Whether this run put it in line; an earlier one may have, then its place is not known."""
    place = places.get(mail.mail_id)
    return place is not None and mail.enqueued_at + 0.001 > place.called_at  # it is in whole ms


def _lead(own: list[Delivery], places: Mapping[str, Place]) -> Lead | None:
    """None when the records contradict each other, or when there are none."""
    if not own:
        return None
    most_s = min(mail.claimed_at - places[mail.mail_id].called_at for mail in own)
    least_s = max(mail.claimed_at - mail.started_at for mail in own)
    return Lead(least_s, most_s) if least_s <= most_s else None


def _claim(
    mail: Delivery, event: Event, priorities: Mapping[str, str], place: Place | None
) -> Claim:
    # A mail that is tried again waits among the delayed ones, too.
    readiness = DUE if event.delay_s or mail.attempt > 1 else READY
    line = Line(PRIORITIES[priorities[event.kind]], readiness)
    return Claim(event, line, mail.claimed_at, place)


def _passed_over(claims: list[Claim], lead_s: float) -> list[str]:
    """Mails that were claimed while one of a better line surely waited."""
    found = set[str]()
    for line in {claim.line for claim in claims}:
        waiting = sorted(
            (claim.in_line_by + lead_s, claim.claimed_at)
            for claim in claims
            if claim.place and claim.line == line
        )
        since = [start for start, _ in waiting]
        until = list(accumulate((end for _, end in waiting), max))
        for claim in claims:
            waited = bisect_left(since, claim.claimed_at) if claim.line > line else 0
            if waited and until[waited - 1] > claim.claimed_at:
                found.add(claim.event.task_id)
    return sorted(found)


def _out_of_turn(claims: list[Claim]) -> list[str]:
    """Mails that were claimed before an earlier one of the same line; the due ones have no turn."""
    latest: dict[Line, float] = {}
    found = []
    ready = [claim for claim in claims if claim.place and claim.line.readiness == READY]
    for claim in sorted(ready, key=lambda claim: claim.first.number):
        if claim.claimed_at < latest.get(claim.line, -inf):
            found.append(claim.event.task_id)
        else:
            latest[claim.line] = claim.claimed_at
    return found


def _overtaking(claims: list[Claim]) -> dict[str, Overtaking]:
    first = [claim for claim in claims if claim.place]
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
        found[kind] = Overtaking(len(counts), median(counts), max(counts))
    return found


def _overtaken(front: list[Claim], behind: list[Claim]) -> list[int]:
    """For each of *front*, how many of *behind* were in line before it and claimed after it."""
    coming = deque(sorted(behind, key=lambda claim: claim.in_line_by))
    in_line: list[float] = []
    counts = []
    for claim in sorted(front, key=lambda claim: claim.not_before):
        while coming and coming[0].in_line_by <= claim.not_before:
            insort(in_line, coming.popleft().claimed_at)
        counts.append(len(in_line) - bisect_right(in_line, claim.claimed_at))
    return counts
