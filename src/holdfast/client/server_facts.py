"""Define the state of one server, and find problems in it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Final, Literal

from .finding import Finding, Severity

Topology = Literal["standalone", "sentinel", "cluster"]

FULL: Final = 0.9
"""Fraction of the memory limit in use above which the memory counts as nearly full."""

LAGGING_S: Final = 10.0
"""Seconds since a replica's last message after which it counts as lagging."""


@dataclass(frozen=True, slots=True)
class Replica:
    """Describe a replica of a server.

    Attributes:
        address: `host:port` of the replica, as the server reports it.
        online: whether the replica follows the server; False while it loads the first copy.
        lag: seconds since the replica's last message.
        behind: bytes of the replication stream that the replica has not acknowledged.
    """

    address: str
    online: bool
    lag: float
    behind: int


@dataclass(frozen=True, slots=True)
class SlowCommand:
    """Hold an entry of the slow log, without the values of the command, because they may be secret.

    Attributes:
        at: when the command ran.
        took: seconds that the command took.
        command: first word of the command.
        key: first key of the command; empty if it has no key.
    """

    at: datetime
    took: float
    command: str
    key: str


@dataclass(frozen=True, slots=True)
class ServerFacts:
    """Describe one server that has data: the only server, the primary, or a primary of a cluster.

    Attributes:
        address: `host:port`, or the path of the socket.
        software: `valkey` or `redis`.
        version: version of the software.
        uptime: seconds since the server started.
        memory: bytes of memory in use.
        memory_peak: highest number of bytes that was in use.
        memory_limit: bytes at which the server refuses writes or evicts keys; None: no limit.
        eviction: eviction policy. Any policy but `noeviction` may drop acknowledged data.
        evicted: number of keys that were evicted because the memory was full.
        clients: number of connections.
        commands_per_second: current rate of commands.
        keys: number of keys in the database of this client.
        appends: whether the server writes each change to a file (AOF).
        fsync: `always`, `everysec` or `no`; None if `appends` is False, or if the user may not read
            the setting.
        persists: whether the last writes to disk succeeded.
        saved_at: when the server last saved a whole copy (RDB), or started; None: unknown.
        replicas: replicas of the server.
        slow: slow commands, the latest first; None if the user may not read them.
    """

    address: str
    software: str
    version: str
    uptime: float
    memory: int
    memory_peak: int
    memory_limit: int | None
    eviction: str
    evicted: int
    clients: int
    commands_per_second: float
    keys: int
    appends: bool
    fsync: str | None
    persists: bool
    saved_at: datetime | None
    replicas: tuple[Replica, ...]
    slow: tuple[SlowCommand, ...] | None

    @property
    def findings(self) -> tuple[Finding, ...]:
        """Return the problems that these facts show; `diagnose` of the client checks more."""
        return (*_findings(self), *_findings_of_replicas(self))


def _findings(one: ServerFacts) -> Iterator[Finding]:
    at = one.address
    if not one.persists:
        yield Finding(
            Severity.ERROR,
            "it cannot write to its disk",
            "what is acknowledged is kept in memory only, or every write is refused",
            "look at its log; then BGSAVE, and BGREWRITEAOF if it appends to a file",
            at,
        )
    if one.eviction != "noeviction":
        yield Finding(
            Severity.ERROR if one.evicted else Severity.WARNING,
            f"when it is full it drops what was acknowledged ({one.eviction})",
            f"{one.evicted:,} keys are gone so far: tasks, messages and fences may be among them"
            if one.evicted
            else "tasks, messages and fences may be among the keys that it drops",
            "CONFIG SET maxmemory-policy noeviction",
            at,
        )
    if one.memory_limit and one.memory > FULL * one.memory_limit:
        yield Finding(
            Severity.ERROR,
            f"its memory is {100 * one.memory / one.memory_limit:.0f} % used",
            "at the limit it refuses every write that adds: tasks, messages, locks",
            f"CONFIG SET maxmemory {2 * one.memory_limit}, if the machine has as much",
            at,
        )


def _findings_of_replicas(one: ServerFacts) -> Iterator[Finding]:
    for replica in one.replicas:
        if not replica.online:
            yield Finding(
                Severity.WARNING,
                f"its replica {replica.address} does not follow",
                "it cannot take over, and would come back without what was acknowledged meanwhile",
                f"run INFO replication on {replica.address}, and read its log",
                one.address,
            )
        elif replica.lag > LAGGING_S:
            yield Finding(
                Severity.WARNING,
                f"its replica {replica.address} has sent nothing for {replica.lag:.0f} s",
                f"if it took over now, the last {replica.behind:,} bytes would be lost",
                f"run INFO replication on {replica.address}, and check the network between them",
                one.address,
            )
