"""Whether all is well, in words: pure judgement of what the overview has found."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final, Literal

from ... import QueueStats, ServerFacts, WorkerStatus
from .names import in_text
from .words import counted, span

Level = Literal["good", "warn", "bad"]

LEVELS: Final[tuple[Level, ...]] = ("good", "warn", "bad")

LONG_WAIT_S: Final = 300.0
FULL: Final = 0.9

_NAMED: Final = 3
"""Queues that one finding names."""


@dataclass(frozen=True, slots=True)
class Finding:
    """Something that somebody should look at.

    Attributes:
        level: `warn` or `bad`.
        text: what it is, and what to do.
        page: where to look.
    """

    level: Level
    text: str
    page: str


@dataclass(frozen=True, slots=True)
class Verdict:
    """All of them, in a word.

    Attributes:
        level: the worst of the findings.
        text: a sentence.
        findings: the worst first.
    """

    level: Level
    text: str
    findings: tuple[Finding, ...]


def verdict(
    queues: Mapping[str, QueueStats],
    workers: Sequence[WorkerStatus],
    servers: Sequence[ServerFacts],
    died: int,
    now: datetime,
) -> Verdict:
    """What is to be said.

    Args:
        queues: their numbers.
        workers: those that are known.
        servers: how they are.
        died: tasks given up within the last hour.
        now: when this was found.
    """
    findings = [
        *_of_servers(servers),
        *_of_workers(queues, workers),
        *_of_queues(queues, now),
    ]
    if died:
        text = f"{counted(died, 'task')} given up within the hour"
        findings.append(Finding("warn", text, "failures"))
    findings.sort(key=lambda each: -LEVELS.index(each.level))
    if not findings:
        return Verdict("good", "All is well.", ())
    worst = findings[0].level
    return Verdict(worst, _SAID[worst], tuple(findings))


_SAID: Final = {"warn": "Something should be looked at.", "bad": "Something is wrong."}


def _of_servers(servers: Sequence[ServerFacts]) -> Iterator[Finding]:
    for one in servers:
        for found in one.troubles:
            level: Level = "bad" if found.level == "error" else "warn"
            yield Finding(level, f"{one.address}: {found.title}; {found.command}", "server")


def _of_workers(
    queues: Mapping[str, QueueStats], workers: Sequence[WorkerStatus]
) -> Iterator[Finding]:
    served = {queue for worker in workers if worker.alive for queue in worker.queues}
    alone = [name for name, one in queues.items() if one.ready and name not in served]
    if alone:
        yield Finding("bad", f"no worker serves {_named(alone)}, where tasks wait", "queues")
    silent = [worker for worker in workers if not worker.alive]
    if silent:
        some = "a worker gives" if len(silent) == 1 else f"{len(silent)} workers give"
        yield Finding("warn", f"{some} no sign of life: killed, or cut off", "workers")


def _of_queues(queues: Mapping[str, QueueStats], now: datetime) -> Iterator[Finding]:
    late = [name for name, one in queues.items() if one.waited(now) > LONG_WAIT_S]
    if late:
        longest = max(queues[name].waited(now) for name in late)
        yield Finding("warn", f"tasks wait in {_named(late)}, for {span(longest)}", "queues")
    paused = [name for name, one in queues.items() if one.paused and one.ready]
    if paused:
        yield Finding("warn", f"{_named(paused)} is paused, and tasks wait there", "queues")
    full = [
        name
        for name, one in queues.items()
        if one.capacity and one.ready + one.delayed >= FULL * one.capacity
    ]
    if full:
        yield Finding(
            "bad", f"{_named(full)} is full: enqueuing is refused, or soon will be", "queues"
        )


def _named(queues: Sequence[str]) -> str:
    """`email`, or `email, sms and 3 others`."""
    shown = ", ".join(map(in_text, queues[:_NAMED]))
    rest = len(queues) - _NAMED
    return f"{shown} and {rest} others" if rest > 0 else shown
