"""Where a cell is played: one server, one behind a faulty network, a Sentinel's, a cluster."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from faults.clock import Clock
from faults.clusters import Cluster
from faults.nursery import Actor
from faults.proxy import Proxy
from faults.sentinels import Watched
from faults.servers import Persistence, Server


@dataclass
class Scene:
    """What nemeses strike and clients use.

    Attributes:
        folder: of this cell.
        url: where clients find the server.
        client: a plain redis-py client of the server that has the data now.
        server, proxy, clock, watched, cluster: what there is of it here.
        actors: the clients, once there are some.
        slots: of the units that they use, once these are known.
        access: of the clients, see `opened`.
        calm_ns: when others took over, if they did.
        longest_s: that something took which the trouble was not to touch.
    """

    folder: Path
    url: str
    client: Callable[[], Any]
    server: Server | None = None
    proxy: Proxy | None = None
    clock: Clock | None = None
    watched: Watched | None = None
    cluster: Cluster | None = None
    actors: list[Actor] = field(default_factory=list)
    slots: list[int] = field(default_factory=list)
    access: str = ""
    calm_ns: int = 0
    longest_s: float = 0.0

    def knows(self, command: str) -> bool:
        """Return whether the server has a command."""
        first = self.server or (self.cluster and self.cluster.nodes[0])
        return bool(first and first.execute("COMMAND INFO", command)[0])

    def hand_out(self, password: str) -> None:
        """Let clients know that it is theirs."""
        credentials = Path(self.access)
        new = credentials.with_suffix(".new")
        new.write_text(f"{USER}\n{password}\n")
        new.replace(credentials)  # a concurrent reader finds the old file or the new one


USER, PASSWORD = "app", "first"
RIGHTS = ["~*", "&*", "+@all"]

Topology = Callable[[Path], AbstractContextManager[Scene]]


def standalone(persistence: Persistence = "none", *, access: str = "") -> Topology:
    """Return one server."""

    @contextmanager
    def scene(folder: Path) -> Iterator[Scene]:
        with Server(persistence=persistence) as server:
            yield Scene(folder, server.url, server.client, server, access=access)

    return scene


@contextmanager
def guarded(folder: Path) -> Iterator[Scene]:
    """Yield a server with a user for its clients, and a file with its name and password."""
    with Server() as server:
        server.execute("ACL", "SETUSER", USER, "on", f">{PASSWORD}", *RIGHTS)
        credentials = str(folder / "credentials")
        scene = Scene(folder, server.url, server.client, server, access=credentials)
        scene.hand_out(PASSWORD)
        yield scene


@contextmanager
def proxied(folder: Path) -> Iterator[Scene]:
    """Yield a server behind a network that can fail."""
    with Server() as server, Proxy(server.address) as proxy:
        yield Scene(folder, proxy.url, server.client, server, proxy)


@contextmanager
def clocked(folder: Path) -> Iterator[Scene]:
    """Yield a server with a clock that can be set."""
    clock = Clock(folder)
    with Server(env=clock.env) as server:
        yield Scene(folder, server.url, server.client, server, clock=clock)


def sentinel(*, access: str = "", **replicated: int) -> Topology:
    """Yield a primary and replicas under Sentinels, with the options of `Watched`."""

    @contextmanager
    def scene(folder: Path) -> Iterator[Scene]:
        with Watched(folder, **replicated) as watched:
            yield Scene(folder, watched.url, watched.client, watched=watched, access=access)

    return scene


@contextmanager
def cluster(folder: Path) -> Iterator[Scene]:
    """Three primaries that share the slots."""
    with Cluster(primaries=3) as cluster:
        yield Scene(folder, cluster.url, cluster.client, cluster=cluster)


@contextmanager
def replicated(folder: Path) -> Iterator[Scene]:
    """Three primaries that share the slots, each with a replica; none waits for the others."""
    with Cluster(3, "--cluster-require-full-coverage", "no", replicated=True) as cluster:
        yield Scene(folder, cluster.url, cluster.client, cluster=cluster)
