"""`ServerSnapshot`: everything that `diagnose` reads from one server."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from statistics import median

from ..server_facts import ServerFacts


@dataclass(frozen=True, slots=True)
class ClockReading:
    """One reply of the server to `TIME`.

    Attributes:
        sent_s: when the command was sent, by the monotonic clock of this process.
        took_s: seconds until the reply.
        server_s: the time in the reply.
        local_s: the time of this machine, halfway between command and reply.
    """

    sent_s: float
    took_s: float
    server_s: float
    local_s: float

    @property
    def ahead_s(self) -> float:
        """Return how far the server's clock is ahead of the clock of this machine."""
        return self.server_s - self.local_s


@dataclass(frozen=True, slots=True)
class LatencyEvent:
    """An event of the server's latency monitor.

    Attributes:
        event: what was slow, such as `fork` or `aof-fsync-always`.
        at: when it was slow last.
        longest_s: the longest time it ever took.
    """

    event: str
    at: datetime
    longest_s: float


@dataclass(frozen=True, slots=True)
class Login:
    """The user of the client, and its rights.

    Attributes:
        user: its name; `default` if the client gives none.
        namespace: the namespace of the client.
        by_password: whether the client gives a password or certificate.
        missing: rights that Holdfast needs and the user does not have.
        excessive: rights that the user has and Holdfast does not need.
    """

    user: str
    namespace: str
    by_password: bool
    missing: tuple[str, ...] = ()
    excessive: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ServerSnapshot:
    """What was read from one server that holds data.

    Attributes:
        facts: the same as in `servers` of the client.
        info: the fields of `INFO`.
        config: settings by name; None without the right to read them.
        clock: readings of its clock, in order.
        delays: events of the latency monitor; None without the right to read them.
        login: the user of this client.
        topology: `standalone`, `sentinel` or `cluster`.
        is_local: whether it runs on this machine.
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
        """Return the reading with the fastest reply: it is the most accurate."""
        return min(self.clock, key=lambda reading: reading.took_s)

    @property
    def round_trip_s(self) -> float:
        """Return the median time of a reply."""
        return median(reading.took_s for reading in self.clock)

    def setting(self, name: str) -> str | None:
        """Return a setting; None without the right to read it, or if the server has none."""
        return None if self.config is None else self.config.get(name)
