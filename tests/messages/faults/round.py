"""One round: senders and readers of one chat or mailbox, trouble, and then calm: `Round`."""

from __future__ import annotations

import random
import secrets
import time
from collections.abc import Collection, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from faults.history import Operation, Recorder, read
from faults.nemesis import Nemesis, kill, pause, restart
from faults.nursery import Actor, Nursery
from faults.proxy import Proxy
from faults.servers import Server
from faults.stubborn import insist
from faults.waiting import eventually
from holdfast import Holdfast
from messages.faults.actors import PLAY, acknowledge, fetched, handle, say
from messages.faults.desks import DESKS, PLACE, Desk
from soundness import assert_sound

TROUBLE_S = 0.25
FEW = 5  # of messages that are kept, so that readers are late
PLENTY = 100_000
SENDERS, READERS, GUEST = ["jack", "jill"], ["ruth", "rose"], "gwen"
LAST = 10**6
"""The number of a sender's last message: nobody came so far in the trouble."""


@dataclass(frozen=True)
class Plan:
    """Who takes part in what.

    Attributes:
        seed: of the trouble.
        kind: `chat` or `mailbox`.
        keep: what a chat keeps, or the capacity of a mailbox that drops the oldest.
        desk: whose chat it is, of `DESKS`.
        reading: what readers do, of `ROLES`.
        struck: which roles are killed and paused.
        outages: whether the server and the network are struck too.
    """

    seed: int
    kind: str = "chat"
    keep: int | str = PLENTY
    desk: str = "holdfast"
    reading: str = "receive"
    struck: Collection[str] = ("send", "receive", "receive_hastily", "come_and_go")
    outages: bool = True

    @classmethod
    def of(cls, seed: int) -> Plan:
        """One of all kinds."""
        kind, keep = [
            ("chat", PLENTY),
            ("chat", "until_read"),
            ("chat", FEW),
            ("mailbox", PLENTY),
            ("mailbox", FEW),
        ][seed % 5]
        return cls(seed, kind, keep)

    @property
    def readers(self) -> list[str]:
        """Who reads; the first one has two devices. A mailbox has but one owner."""
        return READERS if self.kind == "chat" else READERS[:1]

    @property
    def has_guest(self) -> bool:
        """Whether somebody comes and goes, on two devices."""
        return self.kind == "chat" and self.desk == "holdfast"

    @property
    def dropped(self) -> int | None:
        """How many messages are kept that are not read; None: all."""
        return FEW if self.keep == FEW else None


class Round:
    """The actors of a plan, on a server of the test.

    Args:
        plan: what is played.
        server: that keeps what it acknowledged.
        nursery: where actors come from.
        folder: for the histories.
        namespace: by default a new one.
    """

    def __init__(
        self, plan: Plan, server: Server, nursery: Nursery, folder: Path, namespace: str = ""
    ) -> None:
        self.plan = plan
        self._server = server
        self._nursery = nursery
        self._namespace = namespace or f"round-{plan.seed}-{secrets.token_hex(4)}"
        self._folder = folder / self._namespace
        self._folder.mkdir(exist_ok=True)

    def history(self) -> Sequence[Operation]:
        """Play it: some trouble, and then readers who come to the end; all on record.

        Raises:
            Exception: a sender cannot send any more when all is calm.
        """
        plan = self.plan
        if plan.desk == "holdfast":
            self.found()
        with Proxy(self._server.address) as proxy:
            actors = self.actors(proxy.url)
            try:
                for actor in actors.values():
                    actor.start()
                eventually(lambda: all(map(self._is_at_work, actors)), reason="all are at work")
                self._trouble(actors, proxy)
            finally:
                for actor in actors.values():
                    actor.kill()
        self.calm()
        if plan.desk == "holdfast":
            assert_sound(self._server.url, self._namespace)
        return self.recorded()

    def recorded(self) -> Sequence[Operation]:
        """What is on record."""
        return read(self._folder.glob("*.jsonl"))

    def found(self) -> None:
        """Make the place."""
        with Holdfast.from_url(self._server.url, namespace=self._namespace) as hf:
            if self.plan.kind == "mailbox":
                place: Any = hf.mailbox(PLACE)
                place.redefine(capacity=self.plan.keep, overflow="drop_oldest")
            else:
                # The first message is as those of the others: the first of its sender.
                with Recorder(self._folder / "founder.jsonl") as recorder:
                    founder = "founder"
                    members, keep = [*SENDERS, *READERS, founder], self.plan.keep
                    with recorder.operation("send", key=founder, number=1) as pending:
                        place = hf.create_chat(
                            members, sender=founder, body=[founder, 1], chat_id=PLACE, keep=keep
                        )
                        pending.result = 1
                place.leave(founder)

    def actors(self, url: str, **how: Any) -> dict[str, Actor]:
        """Everybody, by name: half of them of each half, who find the server at *url*."""
        parts = [("send", user, half) for user, half in zip(SENDERS, _HALVES, strict=True)]
        parts += [(self.plan.reading, user, half) for user in READERS[:1] for half in _HALVES]
        parts += [(self.plan.reading, user, "async") for user in self.plan.readers[1:]]
        parts += [("come_and_go", GUEST, half) for half in _HALVES if self.plan.has_guest]
        how |= {"kind": self.plan.kind, "desk": self.plan.desk}
        where = {"url": url, "namespace": self._namespace, "folder": str(self._folder)}
        actors: dict[str, Actor] = {}
        for role, user, half in parts:
            who = {"name": f"{role}-{user}-{half}", "role": role, "user": user, "half": half}
            about = {**who, **where, **how, "seed": str(self.plan.seed)}
            actors[f"{role}-{user}-{half}"] = Actor(self._nursery, PLAY, **about)
        return actors

    def _is_at_work(self, name: str) -> bool:
        """Whether an actor has begun: on a busy machine the trouble may be over before."""
        path = self._folder / f"{name}.jsonl"
        return path.exists() and path.stat().st_size > 0

    def _trouble(self, actors: dict[str, Actor], proxy: Proxy) -> None:
        plan = self.plan
        victims = [one for name, one in actors.items() if name.partition("-")[0] in plan.struck]
        with ExitStack() as trouble:
            for n in range(2):
                blows = Nemesis(
                    plan.seed * 3 + n,
                    victims[n::2],
                    actions=(kill, kill, pause),
                    every=(0.04, 0.16),
                    lasting=(0, 0.06),
                )
                trouble.enter_context(blows)
            if plan.outages:
                trouble.enter_context(self._outages(proxy))
            else:
                time.sleep(TROUBLE_S)

    @contextmanager
    def _outages(self, proxy: Proxy) -> Iterator[None]:
        """Cut connections and lost replies; in every second round the server is struck as well."""
        choices, until_s = random.Random(self.plan.seed), time.monotonic() + TROUBLE_S
        with ExitStack() as more:
            if self.plan.seed % 2:
                more.enter_context(
                    Nemesis(
                        self.plan.seed,
                        [self._server],
                        actions=(kill, restart, pause),
                        every=(0.05, 0.2),
                        lasting=(0, 0.05),
                    )
                )
            yield
            while time.monotonic() < until_s:
                time.sleep(choices.uniform(0.01, 0.1))
                match choices.randrange(4):
                    case 0:
                        proxy.cut()
                    case 1:
                        proxy.drop_request(match=b"EVALSHA")
                    case _:
                        proxy.drop_reply(match=b"EVALSHA")

    def calm(self) -> None:
        """Each sender that was struck says one thing more, and each reader reads to the end."""
        with Recorder(self._folder / "calm.jsonl") as recorder:
            for user in SENDERS if "send" in self.plan.struck else []:
                with closing(self._desk(user)) as desk:
                    say(desk, user, recorder, LAST)
            for user in self.plan.readers:
                with closing(self._desk(user)) as desk:
                    while (news := fetched(desk, user, recorder, 500)).upto:
                        handle(news, user, recorder)
                        acknowledge(desk, news, user, recorder)
        if self.plan.has_guest:
            self._see_off()

    def _see_off(self) -> None:
        """The guest leaves, and no ghost of it stays."""
        with Holdfast.from_url(self._server.url, namespace=self._namespace) as hf:
            insist(lambda: hf.chat(PLACE).leave(GUEST))
            assert sorted(insist(hf.chat(PLACE).members)) == sorted([*SENDERS, *READERS])
            assert insist(hf.inbox(GUEST).chats) == []

    def _desk(self, user: str) -> Desk:
        url, plan = self._server.url, self.plan
        return DESKS[plan.desk]("sync", url, self._namespace, kind=plan.kind, user=user)


_HALVES = ("sync", "async")
