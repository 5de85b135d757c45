"""What there is to tell, asked for in few round trips: what is asked at once travels together."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

from ... import (
    AsyncHoldfast,
    FeedStatus,
    LockState,
    NotDefined,
    QueueStats,
    RowCacheStatus,
    SemaphoreState,
    ServerFacts,
    Throughput,
    WorkerStatus,
)
from ..dashboard.gathering import SURVEYED, for_each, stats_of

FEW: Final = 20
"""Row caches and tallies: each takes several calls."""

FEEDS: Final = 50

LOCKS: Final = 200
"""Locks and semaphores, each, that are looked at: those that came into use last."""


@dataclass(frozen=True, slots=True)
class Survey:
    """How everything stands.

    Attributes:
        at: when.
        known: of each kind, how many names are listed.
        queues: numbers of those used last.
        paces: what ended in each of them, by minute: the last whole one, and this one.
        workers: all that gave a sign of life within five minutes.
        locks: that are held or waited for.
        semaphores: likewise.
        caches: row caches used last.
        feeds: published to last.
        tallies: how many lines each has.
        counters: what was added to each within the last hour, of those that are wanted.
        servers: that hold data.
    """

    at: datetime
    known: Mapping[str, int]
    queues: Mapping[str, QueueStats]
    throughputs: Mapping[str, Sequence[Throughput]]
    workers: Sequence[WorkerStatus]
    locks: Mapping[str, LockState]
    semaphores: Mapping[str, SemaphoreState]
    caches: Mapping[str, RowCacheStatus]
    feeds: Mapping[str, FeedStatus]
    tallies: Mapping[str, int]
    counters: Mapping[str, int]
    servers: Sequence[ServerFacts]


async def surveyed(hf: AsyncHoldfast, counters: Sequence[str]) -> Survey:
    """How everything stands now.

    Raises:
        ServerUnavailable: the server cannot be asked.
    """
    kinds = ("queue", "mailbox", "chat", "row_cache", "file_feed", "tally", "completions")
    lists = await asyncio.gather(
        *(hf.queues(), hf.mailboxes(), hf.chats(), hf.row_caches()),
        *(hf.file_feeds(), hf.tallies(), hf.known_completions()),
    )
    names = dict(zip(kinds, lists, strict=True))
    queues = names["queue"][:SURVEYED]
    stats, throughputs, caches, feeds, tallies, totals = await asyncio.gather(
        stats_of(hf, queues),
        for_each(queues, lambda name: hf.queue(name).throughput(2)),
        for_each(names["row_cache"][:FEW], lambda name: hf.row_cache(name).status()),
        for_each(names["file_feed"][:FEEDS], lambda name: hf.file_feed(name).status()),
        for_each(names["tally"][:FEW], lambda name: _lines(hf, name)),
        for_each(counters, lambda name: _last_hour(hf, name)),
    )
    workers, locks, semaphores, servers = await asyncio.gather(
        hf.workers(), hf.locks(among=LOCKS), hf.semaphores(among=LOCKS), hf.servers()
    )
    return Survey(
        at=datetime.now(UTC),
        known={kind: len(found) for kind, found in names.items()},
        queues=stats,
        throughputs=throughputs,
        workers=workers,
        locks=locks,
        semaphores=semaphores,
        caches=caches,
        feeds=feeds,
        tallies=tallies,
        counters={name: total for name, total in totals.items() if total is not None},
        servers=servers,
    )


async def _lines(hf: AsyncHoldfast, tally: str) -> int:
    return sum((await hf.tally(tally).days()).values())


async def _last_hour(hf: AsyncHoldfast, counter: str) -> int | None:
    """None: there is no such counter, or it does not keep so much."""
    with suppress(NotDefined, ValueError):
        return await hf.counter(counter).total(3600.0)
    return None
