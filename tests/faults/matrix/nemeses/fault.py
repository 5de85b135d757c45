"""One kind of trouble, as data: `Fault`."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from faults.matrix.scene import Scene, Topology

Strike = Callable[[Any, float], None]


@dataclass(frozen=True)
class Fault:
    """What a nemesis does, where, and how often.

    Attributes:
        title: in words.
        topology: where it is done.
        victims: the processes that it strikes.
        actions: what it does to them, for so many seconds.
        every: shortest and longest wait before a strike, in seconds.
        lasting: shortest and longest duration of a strike, in seconds.
        trouble_s: seconds of it; 0: one strike.
        how: what it passes to the clients, which do it themselves if there are no actions.
        lossy: the server loses what it acknowledged.
        alone: there is one worker and one refresher, so none takes over what the other forgot.
        refuses_events: events of tasks are dropped meanwhile, as docs/progress.md says.
        heal: what ends it.
        needs: a command without which a server cannot play it.
    """

    title: str
    topology: Topology
    victims: Callable[[Scene], Sequence[Any]] = lambda _: []
    actions: Sequence[Strike] = ()
    every: tuple[float, float] = (0.1, 0.4)
    lasting: tuple[float, float] = (0.0, 0.3)
    trouble_s: float = 2.5
    how: dict[str, Any] = field(default_factory=dict)
    lossy: bool = False
    alone: bool = False
    refuses_events: bool = False
    heal: Callable[[Scene], object] = lambda _: None
    needs: str = ""


@dataclass
class Target:
    """Something that can be struck again and again, for a `Nemesis`."""

    name: str
    scene: Scene
    is_running: bool = True


def whole(scene: Scene) -> list[Target]:
    """Return the scene itself."""
    return [Target("the scene", scene)]
