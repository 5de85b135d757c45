"""A server that loses its last writes, as after a power cut or a failover: `Forgetful`."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from faults.servers import Server


class Forgetful:
    """A server that goes back to what it was at a moment, while its clients run on."""

    def __init__(self, server: Server) -> None:
        self.server = server
        self._length = 0

    def remember(self) -> None:
        """Note this moment."""
        self._length = self.server.append_only_bytes

    def forget(self) -> None:
        """Kill the server, and start it with what it had at the noted moment."""
        self.server.kill()
        self.server.forget_beyond(self._length)
        self.server.start()


@contextmanager
def forgetful() -> Iterator[Forgetful]:
    """Run such a server."""
    with Server(persistence="always") as server:
        yield Forgetful(server)
