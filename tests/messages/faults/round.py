"""One round: senders and readers of one chat or mailbox, with faults and then without: `Round`."""

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
from faults.nursery import Actor, ForkServer
from faults.proxy import Proxy
from faults.servers import Server
from faults.stubborn import insist
from faults.waiting import eventually
from holdfast import Holdfast
from messages.faults.actors import ENTRY_POINT, acknowledge, fetched, handle, send_one
from messages.faults.endpoints import ENDPOINTS, TARGET, Endpoint
from soundness import assert_sound

FAULTS_S = 0.25
FEW = 5  # of messages that are kept, so that readers are late
PLENTY = 100_000
SENDERS, READERS, GUEST = ["jack", "jill"], ["ruth", "rose"], "gwen"
LAST = 10**6
"""The number of a sender's last message. No sender reaches it while faults are injected."""


@dataclass(frozen=True)
class Scenario:
    """The actors and the faults of a round.

    Attributes:
        seed: seed of the faults.
        kind: `chat` or `mailbox`.
        keep: what a chat keeps, or the capacity of a mailbox that drops the oldest.
        endpoint: one of `ENDPOINTS`.
        reading: what readers do, one of `ROLES`.
        struck: the roles that are killed and paused.
        outages: whether the server and the network fail too.
    """

    seed: int
    kind: str = "chat"
    keep: int | str = PLENTY
    endpoint: str = "holdfast"
    reading: str = "receive"
    struck: Collection[str] = ("send", "receive", "acknowledge_first", "join_and_leave")
    outages: bool = True

    @classmethod
    def of(cls, seed: int) -> Scenario:
        """Return the scenario for *seed*: five of them in turn."""
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
        """Return the readers. The first one has two devices. A mailbox has only one reader."""
        return READERS if self.kind == "chat" else READERS[:1]

    @property
    def has_guest(self) -> bool:
        """Return whether a guest joins and leaves, on two devices."""
        return self.kind == "chat" and self.endpoint == "holdfast"

    @property
    def dropped(self) -> int | None:
        """Return how many unread messages are kept; None: all."""
        return FEW if self.keep == FEW else None


class Round:
    """The actors of a scenario, on a server of the test.

    Args:
        scenario: the scenario.
        server: that keeps what it acknowledged.
        fork_server: where actors come from.
        folder: for the histories.
        namespace: by default a new one.
    """

    def __init__(
        self,
        scenario: Scenario,
        server: Server,
        fork_server: ForkServer,
        folder: Path,
        namespace: str = "",
    ) -> None:
        self.scenario = scenario
        self._server = server
        self._fork_server = fork_server
        self._namespace = namespace or f"round-{scenario.seed}-{secrets.token_hex(4)}"
        self._folder = folder / self._namespace
        self._folder.mkdir(exist_ok=True)

    def history(self) -> Sequence[Operation]:
        """Run the round until the readers have read all messages; return the history.

        Raises:
            Exception: a sender still fails after the faults have ended.
        """
        scenario = self.scenario
        if scenario.endpoint == "holdfast":
            self.create()
        with Proxy(self._server.address) as proxy:
            actors = self.actors(proxy.url)
            try:
                for actor in actors.values():
                    actor.start()
                eventually(
                    lambda: all(map(self._has_begun, actors)), reason="all actors have begun"
                )
                self._inject_faults(actors, proxy)
            finally:
                for actor in actors.values():
                    actor.kill()
        self.finish()
        if scenario.endpoint == "holdfast":
            assert_sound(self._server.url, self._namespace)
        return self.recorded()

    def recorded(self) -> Sequence[Operation]:
        """Return the recorded operations."""
        return read(self._folder.glob("*.jsonl"))

    def create(self) -> None:
        """Create the chat or mailbox."""
        with Holdfast.from_url(self._server.url, namespace=self._namespace) as hf:
            if self.scenario.kind == "mailbox":
                target: Any = hf.mailbox(TARGET)
                target.redefine(capacity=self.scenario.keep, overflow="drop_oldest")
            else:
                # Like all other messages, this one has the sender and its number as the body.
                with Recorder(self._folder / "founder.jsonl") as recorder:
                    founder = "founder"
                    members, keep = [*SENDERS, *READERS, founder], self.scenario.keep
                    with recorder.operation("send", key=founder, number=1) as pending:
                        target = hf.create_chat(
                            members, sender=founder, body=[founder, 1], chat_id=TARGET, keep=keep
                        )
                        pending.result = 1
                target.leave(founder)

    def actors(self, url: str, **how: Any) -> dict[str, Actor]:
        """Return the actors by name, of both halves, connected to the server at *url*."""
        parts = [("send", user, half) for user, half in zip(SENDERS, _HALVES, strict=True)]
        parts += [(self.scenario.reading, user, half) for user in READERS[:1] for half in _HALVES]
        parts += [(self.scenario.reading, user, "async") for user in self.scenario.readers[1:]]
        parts += [("join_and_leave", GUEST, half) for half in _HALVES if self.scenario.has_guest]
        how |= {"kind": self.scenario.kind, "endpoint": self.scenario.endpoint}
        where = {"url": url, "namespace": self._namespace, "folder": str(self._folder)}
        actors: dict[str, Actor] = {}
        for role, user, half in parts:
            who = {"name": f"{role}-{user}-{half}", "role": role, "user": user, "half": half}
            about = {**who, **where, **how, "seed": str(self.scenario.seed)}
            actors[f"{role}-{user}-{half}"] = Actor(self._fork_server, ENTRY_POINT, **about)
        return actors

    def _has_begun(self, name: str) -> bool:
        """Return whether an actor has begun: on a busy machine it may begin after the faults."""
        path = self._folder / f"{name}.jsonl"
        return path.exists() and path.stat().st_size > 0

    def _inject_faults(self, actors: dict[str, Actor], proxy: Proxy) -> None:
        scenario = self.scenario
        victims = [one for name, one in actors.items() if name.partition("-")[0] in scenario.struck]
        with ExitStack() as faults:
            for n in range(2):
                nemesis = Nemesis(
                    scenario.seed * 3 + n,
                    victims[n::2],
                    actions=(kill, kill, pause),
                    every=(0.04, 0.16),
                    lasting=(0, 0.06),
                )
                faults.enter_context(nemesis)
            if scenario.outages:
                faults.enter_context(self._outages(proxy))
            else:
                time.sleep(FAULTS_S)

    @contextmanager
    def _outages(self, proxy: Proxy) -> Iterator[None]:
        """Cut connections and drop replies; in every second round also kill the server."""
        choices, until_s = random.Random(self.scenario.seed), time.monotonic() + FAULTS_S
        with ExitStack() as more:
            if self.scenario.seed % 2:
                more.enter_context(
                    Nemesis(
                        self.scenario.seed,
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

    def finish(self) -> None:
        """Let each killed sender send one more message, and each reader read all messages."""
        with Recorder(self._folder / "finish.jsonl") as recorder:
            for user in SENDERS if "send" in self.scenario.struck else []:
                with closing(self._endpoint(user)) as endpoint:
                    send_one(endpoint, user, recorder, LAST)
            for user in self.scenario.readers:
                with closing(self._endpoint(user)) as endpoint:
                    while (result := fetched(endpoint, user, recorder, 500)).upto:
                        handle(result, user, recorder)
                        acknowledge(endpoint, result, user, recorder)
        if self.scenario.has_guest:
            self._remove_guest()

    def _remove_guest(self) -> None:
        """Let the guest leave, and check that no cursor of it stays."""
        with Holdfast.from_url(self._server.url, namespace=self._namespace) as hf:
            insist(lambda: hf.chat(TARGET).leave(GUEST))
            assert sorted(insist(hf.chat(TARGET).members)) == sorted([*SENDERS, *READERS])
            assert insist(hf.inbox(GUEST).chats) == []

    def _endpoint(self, user: str) -> Endpoint:
        url, scenario = self._server.url, self.scenario
        return ENDPOINTS[scenario.endpoint](
            "sync", url, self._namespace, kind=scenario.kind, user=user
        )


_HALVES = ("sync", "async")
