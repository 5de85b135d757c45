"""Large numbers of tasks, messages, locks and so on, and the operations on them."""

from __future__ import annotations

import asyncio
import random
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from itertools import count
from typing import ClassVar, Final

from holdfast import AsyncHoldfast, Every, Holdfast, Limit, TaskRegistry

SENT_AT_ONCE: Final = 10_000
AT_ONCE: Final = 200
"""Coroutines that fill a population."""

BODY: Final = "x" * 100
IN_A_CHAT: Final = 100
CHATS_USED: Final = 10


class Population(ABC):
    """Many objects of one kind.

    Attributes:
        name: what they are, in the plural.
        limit: how many there may be.
        operations: name → function that performs so many, one after the other.
        size: how many there are, after `fill`.

    Args:
        hf: a client.
        size: see above.
        url: of the server, for kinds that need a client of their own.
    """

    name: ClassVar[str]
    limit: ClassVar[int] = 10**9
    operations: Mapping[str, Callable[[int], None]]

    def __init__(self, hf: Holdfast, size: int, url: str) -> None:
        self._hf, self.size, self._url = hf, size, url

    @abstractmethod
    def fill(self) -> None:
        """Create them."""


class Tasks(Population):
    """In one queue."""

    name = "tasks in line"

    def __init__(self, hf: Holdfast, size: int, url: str) -> None:
        super().__init__(hf, size, url)
        self.operations = {"enqueue": self._enqueue, "run": self._run}
        self._registry = TaskRegistry()
        self._task = self._registry.task(queue=f"many-{size}", name="count")(self._count)
        self._left = 0

    def fill(self) -> None:
        for start in range(0, self.size, SENT_AT_ONCE):
            count = min(SENT_AT_ONCE, self.size - start)
            self._hf.enqueue_many([self._task.call(BODY) for _ in range(count)])

    def _enqueue(self, times: int) -> None:
        for _ in range(times):
            self._hf.enqueue(self._task.call(BODY))

    def _run(self, times: int) -> None:
        self._left = times
        self._worker = self._hf.worker(self._registry, queues={self._task.queue: 1}, concurrency=64)
        self._worker.run()

    async def _count(self, _body: str) -> None:
        self._left -= 1
        if not self._left:
            self._worker.stop()


class Messages(Population):
    """In one chat, read by one of its two members."""

    name = "messages kept"
    limit = 100_000

    def __init__(self, hf: Holdfast, size: int, url: str) -> None:
        super().__init__(hf, size, url)
        self.operations = {"send": self._send, "fetch 10 of them": self._fetch}
        self._chat = hf.create_chat(["a", f"b-{size}"], sender="a", body=BODY, keep=self.limit)
        self._inbox = hf.inbox(f"b-{size}")

    def fill(self) -> None:
        self._send(self.size)

    def _send(self, times: int) -> None:
        for _ in range(times):
            self._chat.send(BODY, sender="a")

    def _fetch(self, times: int) -> None:
        for _ in range(times):
            self._inbox.fetch(limit=10)


class Chats(Population):
    """Very many things, a hundred in each chat.

    As many chats are used in each size: the first message of a client to a chat costs it more.
    """

    def __init__(self, hf: Holdfast, size: int, url: str) -> None:
        super().__init__(hf, size, url)
        self.operations = {"send": self._send, "fetch 10 of them": self._fetch}
        self._next = count()
        self._chats = max(1, size // IN_A_CHAT)

    def fill(self) -> None:
        asyncio.run(self._fill())

    async def _fill(self) -> None:
        async with AsyncHoldfast.from_url(self._url, namespace="benchmarks") as hf:
            for n in range(self._chats):
                await self._make(hf, n)

    @abstractmethod
    async def _make(self, hf: AsyncHoldfast, n: int) -> None:
        """Make one of them, with a hundred of what is counted."""

    def _send(self, times: int) -> None:
        for _ in range(times):
            n = self._used()
            self._hf.chat(self._chat(n)).send(BODY, sender=self._member(n, 0))

    def _fetch(self, times: int) -> None:
        for _ in range(times):
            self._hf.inbox(self._member(self._used(), 1)).fetch(limit=10)

    def _used(self) -> int:
        """Return the next of a few, spread over the whole population."""
        return next(self._next) % CHATS_USED * self._chats // CHATS_USED

    def _chat(self, n: int) -> str:
        return f"{self.name}-{self.size}-{n}"

    def _member(self, n: int, which: int) -> str:
        return f"{self._chat(n)}-{which}"


class MessagesOfChats(Chats):
    """Each chat has two members, who are in no other."""

    name = f"messages in chats of {IN_A_CHAT}"

    async def _make(self, hf: AsyncHoldfast, n: int) -> None:
        """Make them with many messages at a time: one by one, a million takes very long."""
        sender, reader = self._member(n, 0), self._member(n, 1)
        chat = await hf.create_chat([reader], sender=sender, body=BODY, chat_id=self._chat(n))
        sent = (chat.send(BODY, sender=sender) for _ in range(IN_A_CHAT - 1))
        await asyncio.gather(*sent)


class MembersOfChats(Chats):
    """Create the chats: each member is in one, and each has one message."""

    name = f"members of chats of {IN_A_CHAT}"

    async def _make(self, hf: AsyncHoldfast, n: int) -> None:
        everybody = [self._member(n, which) for which in range(IN_A_CHAT)]
        await hf.create_chat(everybody, sender=everybody[0], body=BODY, chat_id=self._chat(n))


class Members(Population):
    """Of one chat."""

    name = "members of a chat"
    limit = 10_000

    def __init__(self, hf: Holdfast, size: int, url: str) -> None:
        super().__init__(hf, size, url)
        self.operations = {"send": self._send, "fetch": self._fetch}
        self._chat = hf.create_chat(["a"], sender="a", body=BODY)
        self._inbox = hf.inbox(f"{size}-0")

    def fill(self) -> None:
        for n in range(self.size - 1):
            self._chat.join(f"{self.size}-{n}")

    def _send(self, times: int) -> None:
        for _ in range(times):
            self._chat.send(BODY, sender="a")

    def _fetch(self, times: int) -> None:
        for _ in range(times):
            self._inbox.fetch(limit=10)


class Names(Population):
    """That complete each other."""

    name = "names in a guild"

    def __init__(self, hf: Holdfast, size: int, url: str) -> None:
        super().__init__(hf, size, url)
        self.operations = {"search": self._search, "add": self._add}
        self._guild = hf.completions(f"guild-{size}")
        self._random = random.Random(7)

    def fill(self) -> None:
        self._guild.add_many(self._word() for _ in range(self.size))

    def _search(self, times: int) -> None:
        for _ in range(times):
            self._guild.search(self._word()[:2])

    def _add(self, times: int) -> None:
        for _ in range(times):
            self._guild.add("anna")

    def _word(self) -> str:
        return "".join(self._random.choices("abcdefghijklmnopqrstuvwxyz", k=10))


class Counters(Population):
    """Each of its own name."""

    name = "counters"

    def __init__(self, hf: Holdfast, size: int, url: str) -> None:
        super().__init__(hf, size, url)
        self.operations = {"add": self._add}
        self._next = count()

    def fill(self) -> None:
        for start in range(0, self.size, SENT_AT_ONCE):  # a buffer remembers its counters
            with self._hf.counter_buffer() as buffer:
                for n in range(start, min(start + SENT_AT_ONCE, self.size)):
                    buffer.add(f"{self.size}-{n}")

    def _add(self, times: int) -> None:
        for _ in range(times):
            self._hf.counter(f"{self.size}-{next(self._next) % self.size}").add()


class Locks(Population):
    """Each held and given back once."""

    name = "locks used this week"

    def __init__(self, hf: Holdfast, size: int, url: str) -> None:
        super().__init__(hf, size, url)
        self.operations = {"acquire and release": self._cycle}
        self._next = count()

    def fill(self) -> None:
        asyncio.run(self._fill())

    async def _fill(self) -> None:
        async def hold(hf: AsyncHoldfast, first: int) -> None:
            for n in range(first, self.size, AT_ONCE):
                async with hf.lock(f"{self.size}-{n}").hold():
                    pass

        async with AsyncHoldfast.from_url(self._url, namespace="benchmarks") as hf:
            await asyncio.gather(*(hold(hf, first) for first in range(AT_ONCE)))

    def _cycle(self, times: int) -> None:
        for _ in range(times):
            with self._hf.lock(f"{self.size}-{next(self._next) % self.size}").hold():
                pass


class LimiterKeys(Population):
    """Subjects of one rate limiter, each asked once."""

    name = "subjects of a rate limiter"

    def __init__(self, hf: Holdfast, size: int, url: str) -> None:
        super().__init__(hf, size, url)
        self.operations = {"decide": self._decide}
        self._limiter = hf.rate_limit(f"limiter-{size}", Limit(100, per=86_400.0))
        self._next = count()

    def fill(self) -> None:
        asyncio.run(self._fill())

    async def _fill(self) -> None:
        async with AsyncHoldfast.from_url(self._url, namespace="benchmarks") as hf:
            limiter = hf.rate_limit(f"limiter-{self.size}", Limit(100, per=86_400.0))

            async def ask(first: int) -> None:
                for n in range(first, self.size, AT_ONCE):
                    await limiter.of(f"user:{n}").try_acquire()

            await asyncio.gather(*map(ask, range(AT_ONCE)))

    def _decide(self, times: int) -> None:
        for _ in range(times):
            self._limiter.of(f"user:{next(self._next) % self.size}").try_acquire()


class Schedules(Population):
    """Of one queue; none becomes due."""

    name = "schedules"

    def __init__(self, hf: Holdfast, size: int, url: str) -> None:
        super().__init__(hf, size, url)
        self.operations = {"change": self._change}
        tasks = TaskRegistry()
        self._call = tasks.task(queue=f"schedules-{size}", name="nothing")(_nothing).call()
        self._next = count()

    def fill(self) -> None:
        asyncio.run(self._fill())

    async def _fill(self) -> None:
        async with AsyncHoldfast.from_url(self._url, namespace="benchmarks") as hf:

            async def schedule(first: int) -> None:
                for n in range(first, self.size, AT_ONCE):
                    await hf.schedule(f"{self.size}-{n}", self._call, Every(days=30))

            await asyncio.gather(*map(schedule, range(AT_ONCE)))

    def _change(self, times: int) -> None:
        for _ in range(times):
            n = next(self._next)
            self._hf.schedule(f"{self.size}-{n % self.size}", self._call, Every(days=30, hours=n))


def _nothing() -> None:
    """Do nothing: this task is never enqueued."""


KINDS: Final[Mapping[str, type[Population]]] = {
    "tasks": Tasks,
    "messages": Messages,
    "chats": MessagesOfChats,
    "members": Members,
    "chat-members": MembersOfChats,
    "names": Names,
    "counters": Counters,
    "locks": Locks,
    "limiter": LimiterKeys,
    "schedules": Schedules,
}
