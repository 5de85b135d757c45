"""The script of a day: who writes what, to which users and when, and who is cut off.

All of it follows from the seed, so every process can make it up by itself, also a process that was
killed and is started again in the middle of the day.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from math import ceil
from typing import Literal

NAMES = (
    "jack", "jill", "jason", "jeff", "nina", "omar", "rosa", "theo", "uma", "vera", "wim", "yara",
    "alan", "bea", "carl", "dora", "emil", "fay", "gus", "hana",
)  # fmt: skip
TOPICS = ("brakes", "tyres", "paint", "towing", "lunch", "parts", "keys", "tests")
WHAT = ("The blue van", "Bay 3", "Mrs. Hale's car", "The lift", "The new tow truck", "My shift")
NEWS = ("is ready", "needs a hand", "has to wait for parts", "can go", "looks odd", "takes longer")

PHONES_PER_PROCESS = 24
WRITES_PER_S = 0.5  # of one phone; a process must not fall behind with the day
TUNNEL_EVERY_S = 8.0  # of one phone
TUNNEL_S = (0.3, 1.5)
KILL_EVERY_S = 4.0  # of all processes together
DOWN_S = (0.3, 1.2)

Span = tuple[float, float]
"""From when to when, in seconds from the beginning of the day."""


@dataclass(frozen=True, slots=True)
class Act:
    """Something that a user does.

    Attributes:
        user: who.
        number: the how-manieth act of this user it is.
        at: when, in seconds from the beginning of the day; later if something is in the way.
        kind: begin a chat, join one, say something in one, or whisper to one user.
        to: the chat, or the user.
        text: what is written; nothing by who joins.
        members: of a chat that begins.
    """

    user: str
    number: int
    at: float
    kind: Literal["begin", "join", "say", "whisper"]
    to: str
    text: str = ""
    members: tuple[str, ...] = ()

    @property
    def id(self) -> str:
        """Names the act, so that a repetition under this name counts once."""
        return f"{self.user}/{self.number}"


@dataclass(frozen=True, slots=True)
class Kill:
    """A process is killed, and started again."""

    process: int
    at: float
    again_at: float


@dataclass(frozen=True, slots=True)
class Day:
    """Everything that happens.

    Attributes:
        seconds: how long it lasts.
        processes: the users with phones in each process.
        readers: of each chat, by its id, and of each mailbox, by its user. No user is called like
            a chat.
        acts: of each user, in order.
        written: the acts that put a message into each chat and each mailbox.
        tunnels: when the phone of each user has no signal.
        kills: in order.
    """

    seconds: float
    processes: Sequence[Sequence[str]]
    readers: Mapping[str, Sequence[str]]
    acts: Mapping[str, Sequence[Act]]
    written: Mapping[str, Sequence[Act]]
    tunnels: Mapping[str, Sequence[Span]]
    kills: Sequence[Kill]

    @classmethod
    def make(cls, *, seed: int, clients: int, seconds: float) -> Day:
        """Return the day of this seed."""
        rng = random.Random(seed)
        users = [f"{NAMES[i % len(NAMES)]}{i // len(NAMES) or ''}" for i in range(clients)]
        count = max(2, ceil(clients / PHONES_PER_PROCESS))
        chats = _chats(rng, users)
        script = sorted(_script(rng, users, chats, seconds), key=lambda act: act.at)
        acts = {user: _numbered(user, script) for user in users}
        readers = {**{user: [user] for user in users}, **chats}
        written: dict[str, list[Act]] = {source: [] for source in readers}
        for act in chain.from_iterable(acts.values()):
            if act.text:
                written[act.to].append(act)
        return cls(
            seconds=seconds,
            processes=[users[i::count] for i in range(count)],
            readers=readers,
            acts=acts,
            written=written,
            tunnels={u: list(_spans(rng, seconds, TUNNEL_EVERY_S, TUNNEL_S)) for u in users},
            kills=[
                Kill(rng.randrange(count), *span)
                for span in _spans(rng, seconds, KILL_EVERY_S, DOWN_S)
            ],
        )

    @property
    def users(self) -> list[str]:
        """Return all users."""
        return list(self.acts)


def _chats(rng: random.Random, users: Sequence[str]) -> dict[str, list[str]]:
    """Return who is in which chat, from the beginning or later."""
    chats = {}
    for number in range(max(1, len(users) // 4)):
        size = min(len(users), rng.randint(3, 10))
        chats[f"{rng.choice(TOPICS)}-{number + 1}"] = rng.sample(users, size)
    return chats


def _script(
    rng: random.Random, users: Sequence[str], chats: Mapping[str, Sequence[str]], seconds: float
) -> Iterator[Act]:
    """Yield all acts, in no order, without their numbers."""
    since: dict[tuple[str, str], float] = {}
    for chat, members in chats.items():
        begins_at = rng.uniform(0.0, 0.1) * seconds
        late = members[-1] if len(members) > 2 else None
        first = tuple(member for member in members if member != late)
        yield Act(first[0], 0, begins_at, "begin", chat, _sentence(rng), first)
        since |= {(chat, member): begins_at for member in first}
        if late is not None:
            since[chat, late] = rng.uniform(0.3, 0.6) * seconds
            yield Act(late, 0, since[chat, late], "join", chat)
    for _ in range(round(len(users) * WRITES_PER_S * seconds)):
        user, at = rng.choice(users), rng.uniform(0.1, 1.0) * seconds
        mine = [chat for (chat, member), begun in since.items() if member == user and begun < at]
        if mine and rng.random() < 0.5:
            yield Act(user, 0, at, "say", rng.choice(mine), _sentence(rng))
        else:
            other = rng.choice([each for each in users if each != user])
            yield Act(user, 0, at, "whisper", other, _sentence(rng))


def _numbered(user: str, script: Sequence[Act]) -> list[Act]:
    mine = (act for act in script if act.user == user)
    return [replace(act, number=number) for number, act in enumerate(mine, 1)]


def _spans(rng: random.Random, seconds: float, every_s: float, lasts_s: Span) -> Iterator[Span]:
    """Yield spans one after the other, on average so often, until the day ends."""
    at = rng.expovariate(1 / every_s)
    while at < seconds:
        ends_at = at + rng.uniform(*lasts_s)
        yield at, ends_at
        at = ends_at + rng.expovariate(1 / every_s)


def _sentence(rng: random.Random) -> str:
    return f"{rng.choice(WHAT)} {rng.choice(NEWS)}."
