"""Summarize each block of a survey in one line, with what needs attention."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from .. import Severity
from .formats import counted, duration, percent
from .survey import Kind, Survey

LATE_S: Final = 5.0
"""Seconds above which the lag of a row cache needs attention."""

COUNTERS: Final = 20
"""Largest number of counters that are counted. Each takes a call."""

NEARLY_FULL: Final = 0.9
"""Share of a limit above which its use needs attention."""


@dataclass(frozen=True, slots=True)
class BlockSummary:
    """Summarizes the state of one block.

    Attributes:
        kind: kind of the block, such as `lock` or `mailbox`.
        title: name of the block on screens.
        amount: number of units, in words.
        level: how serious *attention* is.
        attention: what needs attention; empty if nothing does.
    """

    kind: Kind
    title: str
    amount: str
    level: Severity = Severity.OK
    attention: str = ""


def block_summaries(survey: Survey) -> list[BlockSummary]:
    """Return the summaries of the blocks that the namespace uses, except queues."""
    return [
        make(survey) for kind, make in _SUMMARIES if survey.known.get(kind) or _in_use(survey, kind)
    ]


def _in_use(survey: Survey, kind: Kind) -> bool:
    return kind == "lock" and bool(survey.permits)


def _locks(survey: Survey) -> BlockSummary:
    waiting = sum(len(each.waiters) for each in survey.permits)
    amount = f"{counted(len(survey.permits), 'lock')} in use"
    if not waiting:
        return BlockSummary("lock", "Locks", amount)
    return BlockSummary("lock", "Locks", amount, Severity.NOTE, counted(waiting, "waiter"))


def _mailboxes(survey: Survey) -> BlockSummary:
    amount = _amount(survey, "mailbox", "mailbox", "mailboxes")
    full = [
        each for each in survey.mailboxes.values() if each.unread >= NEARLY_FULL * each.capacity
    ]
    unread = sum(each.unread for each in survey.mailboxes.values())
    amount += f", {counted(unread, 'unread message')}"
    if survey.known.get("mailbox", 0) > len(survey.mailboxes):
        amount += f" in the {len(survey.mailboxes)} used last"
    if full:
        text = f"{counted(len(full), 'mailbox', 'mailboxes')} full or nearly full"
        return BlockSummary("mailbox", "Mailboxes", amount, Severity.WARNING, text)
    return BlockSummary("mailbox", "Mailboxes", amount)


def _chats(survey: Survey) -> BlockSummary:
    amount = _amount(survey, "chat", "chat", "chats")
    held = sum(any(one.holds_back for one in each.behind) for each in survey.chats.values())
    if held:
        text = f"members hold messages back in {counted(held, 'chat')}"
        return BlockSummary("chat", "Chats", amount, Severity.NOTE, text)
    return BlockSummary("chat", "Chats", amount)


def _counters(survey: Survey) -> BlockSummary:
    amount = _amount(survey, "counter", "counter", "counters")
    if survey.known.get("counter", 0) >= COUNTERS:
        amount += " or more"
    return BlockSummary("counter", "Counters", amount)


def _completions(survey: Survey) -> BlockSummary:
    amount = _amount(survey, "completions", "set of names", "sets of names")
    return BlockSummary("completions", "Autocomplete", amount)


def _cached_functions(survey: Survey) -> BlockSummary:
    title, functions = "Cached functions", survey.cached_functions.values()
    amount = _amount(survey, "cached", "cached function", "cached functions")
    calls = sum(each.calls for each in functions)
    waited = sum(each.misses + each.direct for each in functions)
    if calls:
        amount += f", hit rate {percent(1 - waited / calls)}"
    if direct := sum(each.direct for each in functions):
        text = f"{counted(direct, 'call')} without the server in 24 hours"
        return BlockSummary("cached", title, amount, Severity.NOTE, text)
    return BlockSummary("cached", title, amount)


def _row_caches(survey: Survey) -> BlockSummary:
    title, caches = "Row caches", survey.row_caches.values()
    amount = _amount(survey, "row_cache", "row cache", "row caches")
    amount += f", {counted(sum(each.scheduled for each in caches), 'scheduled row')}"
    failing = sum(each.failing for each in caches)
    if failing or any(each.source_error for each in caches):
        text = f"{counted(failing, 'row')} failing" if failing else "a source cannot be called"
        return BlockSummary("row_cache", title, amount, Severity.ERROR, text)
    late_s = max((each.lag for each in caches), default=0.0)
    if late_s > LATE_S:
        text = f"rows are late by {duration(late_s)}"
        return BlockSummary("row_cache", title, amount, Severity.WARNING, text)
    return BlockSummary("row_cache", title, amount)


def _feeds(survey: Survey) -> BlockSummary:
    title, feeds = "File feeds", survey.file_feeds.values()
    amount = _amount(survey, "file_feed", "feed", "feeds")
    if failed := sum(each.failed for each in feeds):
        text = f"{counted(failed, 'file')} failed too often"
        return BlockSummary("file_feed", title, amount, Severity.ERROR, text)
    full = [
        each for each in feeds if each.state == "open" and each.used > NEARLY_FULL * each.budget
    ]
    if full:
        text = f"{counted(len(full), 'feed')} without room: a consumer is slow"
        return BlockSummary("file_feed", title, amount, Severity.NOTE, text)
    return BlockSummary("file_feed", title, amount)


def _tallies(survey: Survey) -> BlockSummary:
    return BlockSummary("tally", "Tallies", _amount(survey, "tally", "tally", "tallies"))


def _amount(survey: Survey, kind: Kind, noun: str, nouns: str) -> str:
    return counted(survey.known.get(kind, 0), noun, nouns)


_SUMMARIES: Final[tuple[tuple[Kind, Callable[[Survey], BlockSummary]], ...]] = (
    ("lock", _locks),
    ("mailbox", _mailboxes),
    ("chat", _chats),
    ("counter", _counters),
    ("completions", _completions),
    ("cached", _cached_functions),
    ("row_cache", _row_caches),
    ("file_feed", _feeds),
    ("tally", _tallies),
)
