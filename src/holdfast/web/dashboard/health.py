"""Summarize the health of a namespace from a survey of its queues, workers and servers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from ... import Severity
from ...inspect.block_summary import BlockSummary
from ...inspect.formats import counted, duration
from ...inspect.survey import Kind, Survey
from .displayed_names import in_text

LONG_WAIT_S: Final = 300.0
"""Seconds after which a waiting task makes its queue a finding."""

NEARLY_FULL: Final = 0.9
"""Share of the capacity of a queue; a queue that is at least as full is a finding."""

_NAMED: Final = 3
"""Queues that one finding names at most."""


@dataclass(frozen=True, slots=True)
class HealthFinding:
    """Reports something that needs attention.

    Attributes:
        level: how serious the finding is.
        text: a description of the problem; for servers also what to do.
        page: the path of the page with details.
    """

    level: Severity
    text: str
    page: str


@dataclass(frozen=True, slots=True)
class HealthSummary:
    """Holds all findings and their summary.

    Attributes:
        level: the most serious level of all findings.
        text: the summary in one sentence.
        findings: the findings, the most serious first.
    """

    level: Severity
    text: str
    findings: tuple[HealthFinding, ...]


_SUMMARIES: Final = {
    Severity.OK: "No problems.",
    Severity.NOTE: "No problems, with notes.",
    Severity.WARNING: "Needs attention.",
    Severity.ERROR: "There are problems.",
}


def health_of(
    survey: Survey,
    died: int,
    blocks: Iterable[BlockSummary] = (),
    pages: Mapping[Kind, str] = MappingProxyType({}),
) -> HealthSummary:
    """Return the health of a namespace.

    Args:
        survey: the state of the namespace.
        died: how many tasks were dead-lettered in the last hour.
        blocks: the state of the locks, chats, counters and so on.
        pages: kind of a block → path of its page.
    """
    findings = [*_of_servers(survey), *_of_workers(survey), *_of_queues(survey)]
    for block in blocks:
        if block.level.rank >= Severity.WARNING.rank:
            text = f"{block.title.lower()}: {block.attention}"
            findings.append(HealthFinding(block.level, text, pages[block.kind]))
    if died:
        text = f"{counted(died, 'task')} dead-lettered in the last hour"
        findings.append(HealthFinding(Severity.WARNING, text, "failures"))
    findings.sort(key=lambda each: -each.level.rank)
    level = Severity.worst(each.level for each in findings)
    return HealthSummary(level, _SUMMARIES[level], tuple(findings))


def _of_servers(survey: Survey) -> Iterator[HealthFinding]:
    for server in survey.servers:
        for found in server.findings:
            text = f"{server.address}: {found.title}; {found.command}"
            yield HealthFinding(found.level, text, "server")


def _of_workers(survey: Survey) -> Iterator[HealthFinding]:
    unserved = [
        name for name, queue in survey.queues.items() if queue.ready and not survey.serving(name)
    ]
    if unserved:
        text = f"no worker serves {_named(unserved)}, where tasks wait"
        yield HealthFinding(Severity.ERROR, text, "queues")
    if silent := len(survey.workers) - len(survey.alive):
        text = f"{counted(silent, 'worker')} without a heartbeat: killed or disconnected"
        yield HealthFinding(Severity.WARNING, text, "workers")


def _of_queues(survey: Survey) -> Iterator[HealthFinding]:
    queues = survey.queues
    late = [name for name in queues if survey.waited(name) > LONG_WAIT_S]
    if late:
        longest = duration(max(survey.waited(name) for name in late))
        text = f"tasks have waited in {_named(late)} for {longest}"
        yield HealthFinding(Severity.WARNING, text, "queues")
    paused = [name for name, one in queues.items() if one.paused and one.ready]
    if paused:
        text = f"{_named(paused)} is paused, and tasks wait there"
        yield HealthFinding(Severity.WARNING, text, "queues")
    full = [
        name
        for name, one in queues.items()
        if one.capacity and one.ready + one.delayed >= NEARLY_FULL * one.capacity
    ]
    if full:
        text = f"{_named(full)} is full or nearly full: enqueue raises QueueAtCapacity"
        yield HealthFinding(Severity.ERROR, text, "queues")


def _named(queues: Sequence[str]) -> str:
    """Return the names of the first queues, such as `email, sms, push and 3 others`."""
    shown = ", ".join(map(in_text, queues[:_NAMED]))
    rest = len(queues) - _NAMED
    return f"{shown} and {counted(rest, 'other')}" if rest > 0 else shown
