"""A cluster of primaries on loopback ports, without persistence."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Final

from ..server import HOST, Server, free_port, serving

SLOTS: Final = 16_384
READY_S: Final = 30.0
OPTIONS: Final = ("--cluster-enabled", "yes", "--cluster-node-timeout", "5000")


@dataclass(frozen=True, slots=True)
class Cluster:
    """Primaries that share the slots evenly.

    Made by `clustered`.
    """

    servers: Sequence[Server]

    @property
    def url(self) -> str:
        """Return the URL for a client."""
        return f"redis+cluster://{HOST}:{self.servers[0].port}"

    def cpu_s(self) -> list[float]:
        """Processor seconds of each primary so far."""
        return [server.usage().cpu_s for server in self.servers]


@contextmanager
def clustered(primaries: int) -> Iterator[Cluster]:
    """Run a cluster of so many primaries within the context."""
    with ExitStack() as stack:
        buses = [free_port() for _ in range(primaries)]
        servers = [
            stack.enter_context(serving(*OPTIONS, "--cluster-port", str(bus))) for bus in buses
        ]
        for index, server in enumerate(servers):
            first, end = (SLOTS * n // primaries for n in (index, index + 1))
            server.ask("CLUSTER SET-CONFIG-EPOCH", index + 1)
            server.ask("CLUSTER ADDSLOTSRANGE", first, end - 1)
        for server in servers[1:]:
            server.ask("CLUSTER MEET", HOST, servers[0].port, buses[0])
        _wait(servers)
        yield Cluster(servers)


def _wait(servers: Sequence[Server]) -> None:
    deadline_s = time.monotonic() + READY_S
    while not all(_is_sound(server, len(servers)) for server in servers):
        if time.monotonic() > deadline_s:
            raise RuntimeError(f"{len(servers)} servers did not become a cluster in {READY_S:g} s")
        time.sleep(0.05)


def _is_sound(server: Server, size: int) -> bool:
    info = server.ask("CLUSTER INFO")
    return info["cluster_state"] == "ok" and int(info["cluster_known_nodes"]) == size
