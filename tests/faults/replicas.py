"""A primary with replicas; tests can silence the links between them: `ReplicatedServer`."""

import socket
import threading
from contextlib import ExitStack, suppress
from typing import Self

from faults.clusters import SOON
from faults.ports import LOOPBACK
from faults.servers import Server
from faults.waiting import eventually

READY_S = 60.0
CHUNK = 65_536


def can_sync(server: Server) -> bool:
    """Return whether the server has `WAITAOF`; Redis 7.0 does not."""
    return bool(server.execute("COMMAND LIST", "FILTERBY", "PATTERN", "waitaof"))


class Relay:
    """A TCP relay for whatever bytes; `with` opens and closes it.

    Args:
        target: where to.

    Attributes:
        mute: while it is true, what the connecting side sends is lost; what it receives is not.
    """

    def __init__(self, target: tuple[str, int]) -> None:
        self._target = target
        self._listener = socket.create_server((LOOPBACK, 0))
        self._sockets: list[socket.socket] = []
        self._threads: list[threading.Thread] = []
        self.mute = False

    @property
    def port(self) -> int:
        """Return the port to connect to."""
        return int(self._listener.getsockname()[1])

    def __enter__(self) -> Self:
        self._begin(self._accept)
        return self

    def __exit__(self, *_: object) -> None:
        _end(self._listener)
        self._threads[0].join(READY_S)  # no new connection comes
        for each in self._sockets:
            _end(each)
        for thread in self._threads:
            thread.join(READY_S)

    def _begin(self, work: object, *args: object) -> None:
        thread = threading.Thread(target=work, args=args, daemon=True)  # type: ignore[arg-type]
        self._threads.append(thread)
        thread.start()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                self._sockets.append(client)
                try:
                    server = socket.create_connection(self._target)
                except OSError:  # the primary is down: pass that on to its replica
                    client.close()
                    continue
                self._sockets.append(server)
                self._begin(self._pass, client, server, True)
                self._begin(self._pass, server, client, False)

    def _pass(self, source: socket.socket, sink: socket.socket, lossy: bool) -> None:
        with suppress(OSError):
            while data := source.recv(CHUNK):
                if not (lossy and self.mute):
                    sink.sendall(data)
        with suppress(OSError):
            sink.shutdown(socket.SHUT_RDWR)


def _end(each: socket.socket) -> None:
    with suppress(OSError):
        each.shutdown(socket.SHUT_RDWR)
    each.close()


class ReplicatedServer:
    """A primary and its replicas; `with` starts and removes them.

    Args:
        replicas: how many.
        options: more server options for all.
    """

    def __init__(self, replicas: int = 2, *options: str) -> None:
        options = (*SOON, *options)
        self._servers = [Server(*options) for _ in range(1 + replicas)]
        self.primary, *self.replicas = self._servers
        self.relays = [Relay(self.primary.address) for _ in self.replicas]
        self._stack = ExitStack()

    @property
    def url(self) -> str:
        """Return the URL of the primary."""
        return self.primary.url

    def __enter__(self) -> Self:
        with ExitStack() as stack:
            for part in (*self._servers, *self.relays):
                stack.enter_context(part)
            for replica, relay in zip(self.replicas, self.relays, strict=True):
                replica.execute("REPLICAOF", LOOPBACK, relay.port)
            self.wait_until_whole()
            self._stack = stack.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def wait_until_whole(self) -> None:
        """Wait until every replica confirms what the primary writes."""
        eventually(lambda: self.confirmed() == len(self.replicas), READY_S)

    def confirmed(self) -> int:
        """Return how many replicas confirm a write now."""
        with self.primary.client() as client:
            client.set("replicated", "whole")
            return int(client.execute_command("WAIT", len(self.replicas), 100))
