"""A primary and its replicas that real Sentinels watch: `Watched`."""

import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import Any, Self

import redis

from faults.ports import LOOPBACK, Port
from faults.processes import Process
from faults.servers import Server, server_binary
from faults.waiting import eventually

SERVICE = "main"
SOON = ("--repl-diskless-sync-delay", "0")
READY_S = 60.0
PATIENT_MS = 60_000
"""Silence that is no death: a slow machine must not cause a second failover, to a replica that does
not have the data yet."""


class Watched:
    """A primary, replicas, and sentinels who decide by majority; `with` starts and removes them.

    Args:
        folder: for what the sentinels write.
        replicas: of the primary.
        sentinels: that watch it.
        down_after_ms: silence of so long is death, say the sentinels.

    Attributes:
        nodes: all servers, the primary included.
        elected_ns: when the last primary that was lost had a successor.
    """

    def __init__(
        self, folder: Path, *, replicas: int = 1, sentinels: int = 1, down_after_ms: int = 500
    ) -> None:
        self._folder = folder
        self._down_after_ms = down_after_ms
        self.nodes = [Server(*SOON) for _ in range(1 + replicas)]
        self._ports = [Port() for _ in range(sentinels)]
        self._stack = ExitStack()
        self.elected_ns = 0

    def __enter__(self) -> Self:
        with ExitStack() as stack:
            first, *others = (stack.enter_context(server) for server in self.nodes)
            for other in others:
                other.execute("REPLICAOF", *first.address)
            for port in self._ports:
                stack.enter_context(port)
                stack.enter_context(self._sentinel(port.number, first))
            self._sentinels = [redis.Redis(port=port.number) for port in self._ports]
            self._asked = self._sentinels[0]
            for sentinel in self._sentinels:
                stack.callback(sentinel.close)
                eventually(partial(self._is_ready, sentinel), READY_S)
            for other in others:
                eventually(partial(_is_linked, other), READY_S)
            self._stack = stack.pop_all()
        return self

    def _sentinel(self, port: int, primary: Server) -> Process:
        folder = self._folder / str(port)
        folder.mkdir()
        (folder / "sentinel.conf").write_text(
            f"port {port}\nbind {LOOPBACK}\ndir {folder}\n"
            f"sentinel monitor {SERVICE} {primary.address[0]} {primary.port} {self._quorum}\n"
            f"sentinel down-after-milliseconds {SERVICE} {self._down_after_ms}\n"
            f"sentinel failover-timeout {SERVICE} 3000\n"
        )
        config = str(folder / "sentinel.conf")
        return Process(server_binary(), config, "--sentinel", name=f"sentinel {port}")

    @property
    def _quorum(self) -> int:
        return len(self._ports) // 2 + 1

    def _is_ready(self, sentinel: redis.Redis) -> bool:
        """Return whether it knows all replicas, and all other sentinels."""
        try:
            known = sentinel.execute_command("SENTINEL", "MASTER", SERVICE)
        except redis.RedisError:
            return False
        if not isinstance(known, dict):  # by RESP 2, it is a list
            known = dict(zip(known[::2], known[1::2], strict=True))
        others = len(self.nodes) - 1, len(self._ports) - 1
        return (int(known[b"num-slaves"]), int(known[b"num-other-sentinels"])) == others

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    @property
    def address(self) -> tuple[str, int]:
        """Return the address of the sentinel."""
        return LOOPBACK, self._ports[0].number

    @property
    def url(self) -> str:
        """Return the URL for a client that follows the primary."""
        hosts = ",".join(f"{LOOPBACK}:{port.number}" for port in self._ports)
        return f"redis+sentinel://{hosts}/{SERVICE}"

    @contextmanager
    def zombie(self) -> Iterator[Server]:
        """Yield a paused primary that was replaced, and goes on unaware."""
        zombie = self.primary
        zombie.pause()
        try:
            eventually(lambda: self.primary is not zombie, READY_S)
        finally:
            zombie.resume()
        yield zombie
        zombie.execute("REPLICAOF", *self.primary.address)  # the sentinel does, seconds later

    def fail_over(self) -> None:
        """Make the replica the primary. What was acknowledged before is not lost.

        Replication is asynchronous: a client that writes meanwhile may lose what it wrote, as in
            production.
        """
        before = self._primary()
        with redis.Redis(*before) as client:
            client.set("last", "write")
            assert client.wait(1, 10_000) == 1
        eventually(self._is_begun, READY_S)
        eventually(lambda: self._primary() != before, READY_S)
        with redis.Redis(*before) as client:  # the sentinel says so only after some eight seconds
            client.replicaof(*self._primary())

    @property
    def primary(self) -> Server:
        """Return the server that the sentinel calls primary."""
        return next(server for server in self.nodes if server.address == self._primary())

    @property
    def replica(self) -> Server:
        """Return one of the replicas."""
        return self.replicas[0]

    @property
    def replicas(self) -> list[Server]:
        """Return all servers but the primary."""
        return [server for server in self.nodes if server.address != self._primary()]

    def client(self, **options: Any) -> redis.Redis:
        """Return a plain client of the current primary; the caller closes it."""
        host, port = self._primary()
        return redis.Redis(host, port, **options)

    def lose_primary(self) -> None:
        """Kill the primary, wait until the replica has its place, and start it again as replica.

        What was acknowledged and not replicated yet is lost.
        """
        old = self.primary
        self._be_patient(self._down_after_ms)
        old.kill()
        self._succeed(old)

    def cut_replicas(self) -> None:
        """Replicate what was written so far, and nothing more until the primary is restarted."""
        with self.client() as client:
            client.set("last", "replicated")
            assert client.wait(len(self.replicas), 10_000) == len(self.replicas)
            client.execute_command("ACL", "SETUSER", "default", "-psync", "-sync")
            client.execute_command("CLIENT", "KILL", "TYPE", "replica")
        for replica in self.replicas:
            eventually(lambda replica=replica: not _is_linked(replica), READY_S)

    def isolate_primary(self, seconds: float) -> None:
        """Let the primary serve alone for *seconds*, then let the replica have its place.

        Replicas are stopped, so nothing that the primary acknowledges meanwhile reaches them; then
        the primary is, and when it wakes, clients of old may write to it until it is notified.
        """
        old, others = self.primary, self.replicas
        for other in others:
            other.pause()
        time.sleep(seconds)
        old.pause()
        for other in others:
            other.resume()
        eventually(self._is_begun, READY_S)
        self._succeed(old)

    def _succeed(self, old: Server) -> None:
        eventually(lambda: self._primary() != old.address, READY_S, reason="a failover")
        self._be_patient(max(PATIENT_MS, self._down_after_ms))
        new = self.primary
        eventually(lambda: _role(new) == "master", READY_S)
        self.elected_ns = time.monotonic_ns()
        old.resume()
        host, port = new.address
        old.start("--replicaof", f"{host} {port}")  # else it would be an empty primary at first
        old.execute("REPLICAOF", host, port)  # the sentinel says so only after some eight seconds

    def _be_patient(self, down_after_ms: int) -> None:
        """Let a server be down for the sentinels only after a silence of *down_after_ms*."""
        for sentinel in self._sentinels:
            option = ("down-after-milliseconds", down_after_ms)
            sentinel.execute_command("SENTINEL", "SET", SERVICE, *option)

    def _primary(self) -> tuple[str, int]:
        """Return the address of the primary that the sentinel reports."""
        host, port = self._asked.execute_command("SENTINEL", "GET-MASTER-ADDR-BY-NAME", SERVICE)
        return host.decode(), int(port)

    def _is_begun(self) -> bool:
        """Ask for a failover; False while no replica is ready for it."""
        try:
            self._asked.execute_command("SENTINEL", "FAILOVER", SERVICE)
        except redis.ResponseError:
            return False
        return True


def _role(server: Server) -> str:
    """Return the role that it believes it has."""
    role: str = server.execute("INFO", "replication")["role"]
    return role


def _is_linked(replica: Server) -> bool:
    """Return whether it has received all data of its primary."""
    return bool(replica.execute("INFO", "replication")["master_link_status"] == "up")
