"""Read the state of one namespace, with a bounded number of concurrent calls."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Final, Literal, TypeVar

from .. import (
    AsyncHoldfast,
    CachedFunctionStatus,
    ChatStatus,
    FeedStatus,
    LockState,
    MailboxStatus,
    NoSuchChat,
    QueueStats,
    RowCacheStatus,
    RwLockState,
    Sample,
    SemaphoreState,
    ServerFacts,
    Throughput,
    WorkerStatus,
)
from .permits import PermitList, all_permits

Kind = Literal[
    "queue", "lock", "rw_lock", "semaphore", "mailbox", "chat",
    "counter", "cached", "row_cache", "file_feed", "tally", "completions",
]  # fmt: skip

WINDOW_SAMPLES: Final = 60
"""Number of samples that a survey reads of a counter, in its finest precision."""

K = TypeVar("K")
V = TypeVar("V")


@dataclass(frozen=True, slots=True)
class SurveyLimits:
    """Sets how many units of each kind a survey reads at most, the last used first.

    With 0, a survey reads no unit of that kind, but it still counts the names in `Survey.known`.
    There are two exceptions: it counts no locks and no cached functions then, and of counters at
    most *counter_names*.

    Attributes:
        queues: queues; 2 calls each.
        minutes: minutes of the throughput of each queue, with the current minute.
        locks: locks that are checked, and as many reader-writer locks, and as many semaphores; a
            survey keeps those in use.
        mailboxes: mailboxes; 1 call each.
        chats: chats; 1 call each.
        counters: counters; 2 calls each.
        row_caches: row caches; several calls each.
        file_feeds: file feeds; 1 call each.
        tallies: tallies; 1 call each, its reply has an entry for each day.
        cached_functions: cached functions; 1 call each.
        counter_names: counters that are only counted, if *counters* is 0; 1 call each.
    """

    queues: int = 250
    minutes: int = 6
    locks: int = 200
    mailboxes: int = 100
    chats: int = 100
    counters: int = 20
    row_caches: int = 20
    file_feeds: int = 50
    tallies: int = 20
    cached_functions: int = 50
    counter_names: int = 0


@dataclass(frozen=True, slots=True)
class CounterWindow:
    """Holds the latest samples of a counter, in its finest precision.

    Attributes:
        precision: length of a sample in seconds.
        samples: the samples, the oldest first, without gaps.
    """

    precision: int
    samples: Sequence[Sample]

    @property
    def seconds(self) -> int:
        """Return the length of the window in seconds."""
        return self.precision * len(self.samples)

    @property
    def total(self) -> int:
        """Return the sum of all samples."""
        return sum(sample.value for sample in self.samples)


@dataclass(frozen=True, slots=True)
class Survey:
    """Holds the state of a namespace and its servers at one moment.

    Attributes:
        at: time of the survey, by the clock of this machine.
        namespace: the namespace.
        topology: `standalone`, `sentinel` or `cluster`.
        servers: the servers that hold data.
        workers: the workers that published a heartbeat within the last five minutes.
        queues: name → numbers of tasks, the last used queue first.
        throughputs: name of a queue → its throughput in each minute, the oldest first.
        locks: name → state, for locks that are held or waited for.
        rw_locks: name → state, for reader-writer locks that are held or waited for.
        semaphores: name → state, for semaphores that are held or waited for.
        mailboxes: name → status, the last used mailbox first.
        chats: id → status, with the reader that is furthest behind; the last used chat first.
        counters: name → latest samples, sorted by name.
        cached_functions: name → status, the last used cached function first.
        row_caches: name → status, the last used row cache first.
        file_feeds: name → status, the last used feed first; a state may be `undefined`.
        tallies: name → number of counted lines.
        known: kind → number of names that the server lists; a survey may read fewer units.
    """

    at: datetime
    namespace: str
    topology: str
    servers: Sequence[ServerFacts]
    workers: Sequence[WorkerStatus]
    queues: Mapping[str, QueueStats]
    throughputs: Mapping[str, Sequence[Throughput]]
    locks: Mapping[str, LockState] = field(default_factory=dict)
    rw_locks: Mapping[str, RwLockState] = field(default_factory=dict)
    semaphores: Mapping[str, SemaphoreState] = field(default_factory=dict)
    mailboxes: Mapping[str, MailboxStatus] = field(default_factory=dict)
    chats: Mapping[str, ChatStatus] = field(default_factory=dict)
    counters: Mapping[str, CounterWindow] = field(default_factory=dict)
    cached_functions: Mapping[str, CachedFunctionStatus] = field(default_factory=dict)
    row_caches: Mapping[str, RowCacheStatus] = field(default_factory=dict)
    file_feeds: Mapping[str, FeedStatus] = field(default_factory=dict)
    tallies: Mapping[str, int] = field(default_factory=dict)
    known: Mapping[Kind, int] = field(default_factory=dict)

    @property
    def alive(self) -> list[WorkerStatus]:
        """Return the workers that run."""
        return [worker for worker in self.workers if worker.alive]

    @property
    def tasks(self) -> dict[str, int]:
        """Return the number of tasks in each state, summed over all queues of the survey."""
        every = self.queues.values()
        return {
            "ready": sum(each.ready for each in every),
            "running": sum(each.running for each in every),
            "delayed": sum(each.delayed for each in every),
            "dead": sum(each.dead for each in every),
        }

    @property
    def permits(self) -> list[PermitList]:
        """Return the locks of all kinds in use, the one with the most waiters first."""
        found = all_permits(self.locks, self.rw_locks, self.semaphores)
        return sorted(found, key=lambda each: -len(each.waiters))

    def serving(self, queue: str) -> list[WorkerStatus]:
        """Return the running workers that serve *queue*."""
        return [worker for worker in self.alive if queue in worker.queues]

    def waited(self, queue: str) -> float:
        """Return how many seconds the oldest ready task of *queue* has waited; 0 if none waits."""
        return self.queues[queue].waited(self.at)


async def survey(hf: AsyncHoldfast, limits: SurveyLimits | None = None) -> Survey:
    """Read the state of the namespace of *hf*.

    Raises:
        HoldfastError: a call failed. The other calls are cancelled.
    """
    limits = limits or SurveyLimits()
    reader = _LimitedReader(hf, limits)
    at = datetime.now(UTC)
    try:
        async with asyncio.TaskGroup() as group:
            servers = group.create_task(hf.servers())
            workers = group.create_task(hf.workers())
            queues = group.create_task(reader.queues())
            locks = group.create_task(reader.locks())
            rw_locks = group.create_task(reader.rw_locks())
            semaphores = group.create_task(reader.semaphores())
            mailboxes = group.create_task(reader.mailboxes())
            chats = group.create_task(reader.chats())
            counters = group.create_task(reader.counters())
            cached_functions = group.create_task(reader.cached_functions())
            row_caches = group.create_task(reader.row_caches())
            file_feeds = group.create_task(reader.file_feeds())
            tallies = group.create_task(reader.tallies())
            group.create_task(reader.completions())
    except BaseExceptionGroup as failures:
        raise failures.exceptions[0] from None
    stats, throughputs = queues.result()
    return Survey(
        at=at,
        namespace=hf.namespace,
        topology=hf.topology,
        servers=servers.result(),
        workers=workers.result(),
        queues=stats,
        throughputs=throughputs,
        locks=locks.result(),
        rw_locks=rw_locks.result(),
        semaphores=semaphores.result(),
        mailboxes=mailboxes.result(),
        chats=chats.result(),
        counters=counters.result(),
        cached_functions=cached_functions.result(),
        row_caches=row_caches.result(),
        file_feeds=file_feeds.result(),
        tallies=tallies.result(),
        known=reader.known,
    )


async def for_each(keys: Iterable[K], read: Callable[[K], Awaitable[V]]) -> dict[K, V]:
    """Return the result of *read* for each of *keys*. All calls of *read* run concurrently."""
    listed = list(keys)
    return dict(zip(listed, await asyncio.gather(*map(read, listed)), strict=True))


class _LimitedReader:
    """Reads units of each kind within *limits*, and counts their names in `known`."""

    def __init__(self, hf: AsyncHoldfast, limits: SurveyLimits) -> None:
        self.known: dict[Kind, int] = {}
        self._hf = hf
        self._limits = limits

    async def queues(self) -> tuple[dict[str, QueueStats], dict[str, list[Throughput]]]:
        hf, minutes = self._hf, self._limits.minutes
        names = self._first("queue", await hf.queues(), self._limits.queues)
        stats, throughputs = await asyncio.gather(
            for_each(names, lambda name: hf.queue(name).stats()),
            for_each(names, lambda name: hf.queue(name).throughput(minutes)),
        )
        return stats, throughputs

    async def locks(self) -> dict[str, LockState]:
        among = self._limits.locks
        return self._all("lock", await self._hf.locks(among=among) if among else {})

    async def rw_locks(self) -> dict[str, RwLockState]:
        among = self._limits.locks
        return self._all("rw_lock", await self._hf.rw_locks(among=among) if among else {})

    async def semaphores(self) -> dict[str, SemaphoreState]:
        among = self._limits.locks
        return self._all("semaphore", await self._hf.semaphores(among=among) if among else {})

    async def mailboxes(self) -> dict[str, MailboxStatus]:
        hf = self._hf
        names = self._first("mailbox", await hf.mailboxes(), self._limits.mailboxes)
        return await for_each(names, lambda name: hf.mailbox(name).status())

    async def chats(self) -> dict[str, ChatStatus]:
        names = self._first("chat", await self._hf.chats(), self._limits.chats)
        found = await for_each(names, self._chat)
        return {name: status for name, status in found.items() if status is not None}

    async def _chat(self, chat_id: str) -> ChatStatus | None:
        try:
            return await self._hf.chat(chat_id).status(limit=1)
        except NoSuchChat:  # The chat was deleted after its name was listed.
            return None

    async def counters(self) -> dict[str, CounterWindow]:
        if not self._limits.counters:
            if among := self._limits.counter_names:
                self.known["counter"] = len(await self._hf.known_counters(among=among))
            return {}
        names = await self._hf.known_counters(among=self._limits.counters)
        self.known["counter"] = len(names)
        found = await for_each(names, self._counter)
        return {name: window for name, window in found.items() if window is not None}

    async def _counter(self, name: str) -> CounterWindow | None:
        counter = self._hf.counter(name)
        state = await counter.inspect()
        if state is None:  # The counter has expired since its name was listed.
            return None
        finest = state.precisions[0]
        return CounterWindow(finest, (await counter.samples(finest))[-WINDOW_SAMPLES:])

    async def cached_functions(self) -> dict[str, CachedFunctionStatus]:
        limit = self._limits.cached_functions
        return self._all("cached", await self._hf.cached_functions(limit=limit) if limit else {})

    async def row_caches(self) -> dict[str, RowCacheStatus]:
        hf = self._hf
        names = self._first("row_cache", await hf.row_caches(), self._limits.row_caches)
        return await for_each(names, lambda name: hf.row_cache(name).status())

    async def file_feeds(self) -> dict[str, FeedStatus]:
        hf = self._hf
        names = self._first("file_feed", await hf.file_feeds(), self._limits.file_feeds)
        return await for_each(names, lambda name: hf.file_feed(name).status())

    async def tallies(self) -> dict[str, int]:
        names = self._first("tally", await self._hf.tallies(), self._limits.tallies)
        return await for_each(names, self._lines)

    async def _lines(self, tally: str) -> int:
        return sum((await self._hf.tally(tally).days()).values())

    async def completions(self) -> None:
        self.known["completions"] = len(await self._hf.known_completions())

    def _first(self, kind: Kind, names: Sequence[str], most: int) -> Sequence[str]:
        self.known[kind] = len(names)
        return names[:most]

    def _all(self, kind: Kind, states: Mapping[str, V]) -> dict[str, V]:
        self.known[kind] = len(states)
        return dict(states)
