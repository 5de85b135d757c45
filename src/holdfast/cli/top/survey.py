"""Looks at a namespace: a bounded number of calls, and those of one moment travel together."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from datetime import UTC, datetime
from typing import Final, TypeVar

from ... import AsyncHoldfast, FeedStatus, NoSuchChat, QueueStats
from ..locks.places import Places
from .frame import CacheLine, CounterLine, Frame, PlacesLine, QueueLine, UnreadLine
from .rates import MINUTES, Rates

SURVEYED: Final = 100
"""Queues, mailboxes and chats that are looked at, each: those that were used last."""

LISTED: Final = 40
"""Of these, so many are told of; a screen has no room for more."""

PLACES: Final = 200
"""Locks, and semaphores, that are looked at: those that came into use last."""

COUNTERS: Final = 20
CACHES: Final = 10
FEEDS: Final = 20

SAMPLES: Final = 60

K = TypeVar("K")
V = TypeVar("V")


class Survey:
    """Looks at a namespace again and again.

    Args:
        hf: where.
    """

    def __init__(self, hf: AsyncHoldfast) -> None:
        self._hf = hf
        self._rates = Rates()
        self._known: dict[str, int] = {}

    async def look(self) -> Frame:
        """How it is now.

        Raises:
            HoldfastError: it cannot be told.
        """
        hf, self._known = self._hf, {}
        at = datetime.now(UTC)
        try:
            async with asyncio.TaskGroup() as group:
                servers = group.create_task(hf.servers())
                workers = group.create_task(hf.workers())
                queues = group.create_task(self._queues())
                places = group.create_task(self._places())
                mailboxes = group.create_task(self._mailboxes())
                chats = group.create_task(self._chats())
                counters = group.create_task(self._counters())
                caches = group.create_task(self._caches())
                feeds = group.create_task(self._feeds())
        except BaseExceptionGroup as failures:
            raise failures.exceptions[0] from None
        crew = sorted(workers.result(), key=lambda worker: (worker.alive, worker.name))
        serving = [queue for worker in crew if worker.alive for queue in worker.queues]
        stats, rates = queues.result()
        lines = [
            QueueLine(name, one, rates[name], one.waited(at), serving.count(name))
            for name, one in stats.items()
        ]
        self._known["worker"] = len(crew)
        return Frame(
            at=at,
            namespace=hf.namespace,
            topology=hf.topology,
            servers=servers.result(),
            sums={
                "ready": sum(each.ready for each in stats.values()),
                "running": sum(each.running for each in stats.values()),
                "delayed": sum(each.delayed for each in stats.values()),
                "dead": sum(each.dead for each in stats.values()),
            },
            queues=sorted(lines, key=_urgency)[:LISTED],
            per_second=sum(line.per_second for line in lines),
            workers=crew,
            places=places.result(),
            unread=_most_unread([*mailboxes.result(), *chats.result()]),
            counters=counters.result(),
            caches=caches.result(),
            feeds=feeds.result(),
            known=self._known,
        )

    async def _queues(self) -> tuple[dict[str, QueueStats], dict[str, float]]:
        """The numbers of queues, and their rates."""
        hf = self._hf
        names = self._first("queue", await hf.queues(), SURVEYED)
        stats, paces = await asyncio.gather(
            _each(names, lambda name: hf.queue(name).stats()),
            _each(names, lambda name: hf.queue(name).pace(MINUTES)),
        )
        return stats, self._rates.all(paces, datetime.now(UTC))

    async def _places(self) -> list[PlacesLine]:
        locks, semaphores = await asyncio.gather(
            self._hf.locks(among=PLACES), self._hf.semaphores(among=PLACES)
        )
        found = [
            *(Places.of_lock(name, state) for name, state in locks.items()),
            *(Places.of_semaphore(name, state) for name, state in semaphores.items()),
        ]
        found.sort(key=lambda places: (-len(places.waiters), places.name, places.kind))
        self._known["lock"] = len(found)
        return list(map(_places_line, found[:LISTED]))

    async def _mailboxes(self) -> list[UnreadLine]:
        hf = self._hf
        names = self._first("mailbox", await hf.mailboxes(), SURVEYED)
        found = await _each(names, lambda name: hf.mailbox(name).status())
        return [
            UnreadLine(name, "mailbox", status.unread, None, status.last_seen_at)
            for name, status in found.items()
        ]

    async def _chats(self) -> list[UnreadLine]:
        names = self._first("chat", await self._hf.chats(), SURVEYED)
        found = await _each(names, self._chat)
        return [line for line in found.values() if line is not None]

    async def _chat(self, chat_id: str) -> UnreadLine | None:
        try:
            status = await self._hf.chat(chat_id).status(limit=1)
        except NoSuchChat:  # the list may be older than its end
            return None
        for reader in status.behind:
            if reader.unread:
                return UnreadLine(chat_id, "chat", reader.unread, reader.user, reader.last_seen_at)
        return UnreadLine(chat_id, "chat", 0, None, None)

    async def _counters(self) -> list[CounterLine]:
        names = await self._hf.known_counters(among=COUNTERS)
        self._known["counter"] = len(names)
        found = await _each(names, self._counter)
        return [line for line in found.values() if line is not None]

    async def _counter(self, name: str) -> CounterLine | None:
        counter = self._hf.counter(name)
        state = await counter.inspect()
        if state is None:  # it has vanished meanwhile
            return None
        finest = state.precisions[0]
        return CounterLine(name, finest, (await counter.samples(finest))[-SAMPLES:])

    async def _caches(self) -> list[CacheLine]:
        hf = self._hf
        names = self._first("row cache", await hf.row_caches(), CACHES)
        found = await _each(names, lambda name: hf.row_cache(name).status())
        lines = [CacheLine(name, status) for name, status in found.items()]
        return sorted(lines, key=lambda line: (-line.status.lag, line.cache))

    async def _feeds(self) -> list[FeedStatus]:
        hf = self._hf
        names = self._first("feed", await hf.file_feeds(), FEEDS)
        found = (await _each(names, lambda name: hf.file_feed(name).status())).values()
        defined = [status for status in found if status.state != "undefined"]
        return sorted(defined, key=lambda status: (-_behind(status), status.name))

    def _first(self, kind: str, names: list[str], most: int) -> list[str]:
        self._known[kind] = len(names)
        return names[:most]


async def _each(keys: Iterable[K], ask: Callable[[K], Awaitable[V]]) -> dict[K, V]:
    """What *ask* says of each of *keys*."""
    asked = list(keys)
    return dict(zip(asked, await asyncio.gather(*map(ask, asked)), strict=True))


def _urgency(line: QueueLine) -> tuple[float, int, int, str]:
    stats = line.stats
    return -line.oldest, -stats.ready - stats.running, -stats.delayed - stats.dead, line.queue


def _places_line(places: Places) -> PlacesLine:
    first = min(places.holders, key=lambda holder: holder.remaining, default=None)
    return PlacesLine(
        places.name,
        places.kind,
        places.limit,
        len(places.holders),
        first.name if first else None,
        first.remaining if first else 0.0,
        len(places.waiters),
    )


def _most_unread(lines: list[UnreadLine]) -> list[UnreadLine]:
    return sorted(lines, key=lambda line: (-line.unread, line.kind, line.name))[:LISTED]


def _behind(status: FeedStatus) -> int:
    return max((consumer.behind for consumer in status.consumers), default=0)
