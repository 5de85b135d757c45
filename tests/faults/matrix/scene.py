"""Where a cell is played: one server, one behind a faulty network, a Sentinel's, a cluster."""

from __future__ import annotations

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
        client: a plain redis-py client of whoever has the data now.
        server, proxy, clock, watched, cluster: what there is of it here.
        actors: the clients, once there are some.
        slots: of the units that they use, once these are known.
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


Topology = Callable[[Path], AbstractContextManager[Scene]]


def standalone(persistence: Persistence = "none") -> Topology:
    """One server."""

    @contextmanager
    def scene(folder: Path) -> Iterator[Scene]:
        with Server(persistence=persistence) as server:
            yield Scene(folder, server.url, server.client, server)

    return scene


@contextmanager
def proxied(folder: Path) -> Iterator[Scene]:
    """One server behind a network that can be made to fail."""
    with Server() as server, Proxy(server.address) as proxy:
        yield Scene(folder, proxy.url, server.client, server, proxy)


@contextmanager
def clocked(folder: Path) -> Iterator[Scene]:
    """One server whose clock can be set."""
    clock = Clock(folder)
    with Server(env=clock.env) as server:
        yield Scene(folder, server.url, server.client, server, clock=clock)


def sentinel(*, down_after_ms: int = 500) -> Topology:
    """A primary and a replica under a Sentinel, who takes silence of so long for death."""

    @contextmanager
    def scene(folder: Path) -> Iterator[Scene]:
        with Watched(folder, down_after_ms=down_after_ms) as watched:
            yield Scene(folder, watched.url, watched.client, watched=watched)

    return scene


@contextmanager
def cluster(folder: Path) -> Iterator[Scene]:
    """Three primaries that share the slots."""
    with Cluster(primaries=3) as cluster:
        yield Scene(folder, cluster.url, cluster.client, cluster=cluster)
