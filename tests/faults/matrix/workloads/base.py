"""What a cell needs of a block: `Workload`."""

import secrets
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar

from faults.history import Operation, read
from faults.matrix.cell_result import Violation
from faults.matrix.scene import Scene
from faults.nursery import Actor, ForkServer
from holdfast import Holdfast

POISON = "poison"
"""While there is a file of this name beside the histories: what no worker and no loader survives is
wanted."""

STORMS = {"storm_s", "alarm_s"}
"""By which a fault makes clients interrupt their own calls: each such call ends unknown."""

MUTANT = "faults.matrix.mutants:act"
"""Who plays the part of a client that is to be broken."""


class Workload(ABC):
    """The clients of one block in one cell, and the judgement of what they did.

    Args:
        scene: where.
        fork_server: where they come from.
        seed: of their choices.
        how: of the fault: `storm_s`, `alarm_s`, `twice`, `mutant`.
    """

    kinds: ClassVar[frozenset[str]]
    """What they do again and again; after the trouble each must succeed again."""

    module: ClassVar[str]
    """Where their program is; a fork server imports it beforehand."""

    lossy = False
    """Whether the server may lose what it acknowledged: they must bear it."""

    alone = False
    """Whether there is one worker and one refresher: none takes over what the other forgot."""

    refuses_events = False
    """Whether the server may refuse what running tasks report."""

    def __init__(
        self, scene: Scene, fork_server: ForkServer, seed: int, how: dict[str, Any]
    ) -> None:
        self.scene = scene
        self.fork_server = fork_server
        self.seed = seed
        self.how = how
        self.about = {**how, "access": scene.access} if scene.access else how
        self.namespace = f"cell-{secrets.token_hex(4)}"
        self.folder = scene.folder / self.namespace
        self.folder.mkdir()
        self.url = f"{scene.url}?socket_timeout=1"

    def begin(self) -> None:
        """Found what is needed, and start the clients."""
        self.scene.slots = self.slots()
        self.scene.actors = self.actors()
        for actor in self.scene.actors:
            actor.start()

    def end(self) -> None:
        """Let the clients finish, and wait until nothing is under way."""
        (self.folder / "stop").touch()
        for actor in self.scene.actors:
            actor.wait()

    def history(self) -> list[Operation]:
        """Return what was done so far."""
        return read(self.folder.glob("*.jsonl"))

    def repeated(self, history: Sequence[Operation]) -> int:
        """Return how much was done more than once, where that is allowed."""
        return 0

    def longest_s(self, history: Sequence[Operation]) -> float:
        """Return the longest time that a killed client's work waited, if it is known."""
        return 0.0

    def open(self) -> Holdfast:
        """Return a client for checks."""
        return Holdfast.from_url(self.url, namespace=self.namespace)

    @abstractmethod
    def slots(self) -> list[int]:
        """Return the slots of the units in use."""

    @abstractmethod
    def actors(self) -> list[Actor]:
        """Return the clients."""

    @abstractmethod
    def judge(self, history: Sequence[Operation]) -> list[Violation]:
        """Return all violations at the end."""

    def only_half(self) -> str:
        """Return the half that the fault strikes; empty for both."""
        return "async" if "storm_s" in self.how else "sync" if "alarm_s" in self.how else ""

    def actor(self, play: str, name: str, half: str, **more: Any) -> Actor:
        """Return one client. In a storm it is of the asyncio half, which cancels calls.
        Signals interrupt the blocking half."""
        about = {"url": self.url, "namespace": self.namespace, "folder": str(self.folder)}
        half = self.only_half() or half
        about |= {"name": name, "half": half, **self.about, **more}
        play = f"{self.module}:{play}"
        if "mutant" in about:
            play, about["part"] = MUTANT, play
        return Actor(self.fork_server, play, seed=str(self.seed), **about)
