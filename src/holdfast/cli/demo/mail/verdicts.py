"""What the mails prove of the queue's promises; all of it follows from what it is given."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from ..world.part import Verdict
from .events import Event
from .order import Order
from .report import Check, Punctuality

REPEATED_AT_MOST: Final = 64
"""Finished tasks that a kill may repeat."""


def once_at_least(found: Check, mails: int) -> Verdict:
    """Whether there is a mail for everything that happened."""
    missing = tuple(f"there is no mail of {task}" for task in found.missing)
    return Verdict("queue", "a task whose enqueue returned runs", mails, "mails", missing)


def dead_with_a_reason(garbled: Sequence[Event], dead: Mapping[str, str]) -> Verdict:
    """Whether what cannot run is among the dead, each with a reason, and nothing else is."""
    expected = {event.task_id for event in garbled}
    problems = [f"{task} is not among the dead" for task in sorted(expected - dead.keys())]
    problems += [f"{task} is dead without a reason" for task in sorted(dead) if not dead[task]]
    problems += [f"{task} is dead: {dead[task]}" for task in sorted(dead.keys() - expected)]
    promise = "what cannot run is dead, with a reason"
    return Verdict("queue", promise, len(expected), "garbled tasks", tuple(problems))


def not_too_often(found: Check, kills: int) -> Verdict:
    """Whether no more mails are there twice than killed workers may have sent twice."""
    allowed, twice = kills * REPEATED_AT_MOST, len(found.twice)
    promise = f"a kill repeats at most {REPEATED_AT_MOST} of them"
    problems = (f"{twice} mails came twice, after {kills} kills",) if twice > allowed else ()
    return Verdict("queue", promise, kills, "kills", problems)


def not_before_its_time(found: Punctuality) -> Verdict:
    """Whether none of the delayed mails was begun early."""
    early = tuple(f"{task} was begun before its time" for task in found.early)
    return Verdict("queue", "never before its time", found.delayed, "delayed mails", early)


def in_order(found: Order) -> Verdict:
    """Whether nothing proves that others should have gone first."""
    problems = [f"{task} was claimed while a better one waited" for task in found.passed_over]
    problems += [f"{task} was claimed before one in front of it" for task in found.out_of_turn]
    promise = "high before low, due first, first in first out"
    return Verdict("queue", promise, found.claims, "claims", tuple(problems))
