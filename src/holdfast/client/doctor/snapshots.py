"""Define what `diagnose` reads from one server."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from statistics import median

from ..server_facts import ServerFacts


@dataclass(frozen=True, slots=True)
class ClockReading:
    """Hold one reply of the server to `TIME`.

    Attributes:
        sent_s: when the command was sent, by the monotonic clock of this process.
        took_s: seconds until the reply.
        server_s: time in the reply (epoch seconds).
        local_s: time of this machine halfway between command and reply (epoch seconds).
    """

    sent_s: float
    took_s: float
    server_s: float
    local_s: float

    @property
    def ahead_s(self) -> float:
        """Return by how many seconds the server's clock is ahead of the clock of this machine."""
        return self.server_s - self.local_s


@dataclass(frozen=True, slots=True)
class LatencyEvent:
    """Hold an event of the server's latency monitor.

    Attributes:
        event: name of the slow operation, such as `fork` or `aof-fsync-always`.
        at: when the operation was last slow.
        longest_s: seconds that the slowest operation took.
    """

    event: str
    at: datetime
    longest_s: float


@dataclass(frozen=True, slots=True)
class Login:
    """Hold the rights of the client's user.

    Attributes:
        user: name of the user; `default` if the client gives none.
        namespace: namespace of the client.
        by_password: whether the client gives a password or certificate.
        missing: rights that Holdfast needs but the user does not have.
        excessive: rights that the user has but Holdfast does not need.
        near: whether the client needs the rights for near caches, too.
    """

    user: str
    namespace: str
    by_password: bool
    missing: tuple[str, ...] = ()
    excessive: tuple[str, ...] = ()
    near: bool = False


@dataclass(frozen=True, slots=True)
class ServerSnapshot:
    """Hold everything that `diagnose` has read from one server that has data.

    Attributes:
        facts: the facts that `servers` of the client returns.
        info: the fields of `INFO`.
        config: name of a setting → value; None if the user may not read settings.
        clock: readings of the server's clock, in order.
        delays: events of the latency monitor; None if the user may not read them.
        login: rights of the client's user.
        topology: `standalone`, `sentinel` or `cluster`.
        is_local: whether the server runs on this machine.
    """

    facts: ServerFacts
    info: Mapping[str, str]
    config: Mapping[str, str] | None
    clock: tuple[ClockReading, ...]
    delays: tuple[LatencyEvent, ...] | None
    login: Login
    topology: str
    is_local: bool

    @property
    def address(self) -> str:
        """Return the address of the server, as findings show it."""
        return self.facts.address

    @property
    def best_reading(self) -> ClockReading:
        """Return the reading with the fastest reply, which is the most accurate one."""
        return min(self.clock, key=lambda reading: reading.took_s)

    @property
    def round_trip_s(self) -> float:
        """Return the median of the seconds until a reply."""
        return median(reading.took_s for reading in self.clock)

    def setting(self, name: str) -> str | None:
        """Return a setting; None if the user may not read settings, or the server has no such
        setting."""
        return None if self.config is None else self.config.get(name)
