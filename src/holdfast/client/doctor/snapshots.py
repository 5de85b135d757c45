"""What was found out about one server, before anybody judges it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from statistics import median

from ..server_facts import ServerFacts


@dataclass(frozen=True, slots=True)
class Ping:
    """The server was asked for the time.

    Attributes:
        sent_s: when, by the monotonic clock of this process.
        took_s: until it had answered.
        server_s: what its clock said.
        local_s: what the clock of this machine said, half way.
    """

    sent_s: float
    took_s: float
    server_s: float
    local_s: float

    @property
    def ahead_s(self) -> float:
        """By how much the clock of the server is ahead of that of this machine."""
        return self.server_s - self.local_s


@dataclass(frozen=True, slots=True)
class Delay:
    """An event of the server's latency monitor.

    Attributes:
        event: what was slow, as `fork` or `aof-fsync-always`.
        at: when it was so last.
        longest_s: the longest it ever took.
    """

    event: str
    at: datetime
    longest_s: float


@dataclass(frozen=True, slots=True)
class Login:
    """As whom the client comes, and what it may do.

    Attributes:
        user: its name; `default` if it gives none.
        namespace: where it works.
        by_password: whether it gives a password.
        lacks: commands that it needs and may not use.
        beyond: what it may do, and need not.
    """

    user: str
    namespace: str
    by_password: bool
    lacks: tuple[str, ...] = ()
    beyond: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Examined:
    """One server that holds data.

    Attributes:
        facts: as `hf.servers()` has them.
        info: the fields of `INFO`.
        config: settings by name; None if it may not be asked for them.
        pings: one after the other.
        delays: of the latency monitor; None if it may not be asked for them.
        login: of this client.
        topology: `standalone`, `sentinel` or `cluster`.
        is_local: whether it was reached without leaving the machine.
    """

    facts: ServerFacts
    info: Mapping[str, str]
    config: Mapping[str, str] | None
    pings: tuple[Ping, ...]
    delays: tuple[Delay, ...] | None
    login: Login
    topology: str
    is_local: bool

    @property
    def address(self) -> str:
        """Where it is, as findings have it."""
        return self.facts.address

    @property
    def best_ping(self) -> Ping:
        """The quickest one: it tells the time best."""
        return min(self.pings, key=lambda ping: ping.took_s)

    @property
    def round_trip_s(self) -> float:
        """How long an answer takes, as a rule."""
        return median(ping.took_s for ping in self.pings)

    def setting(self, name: str) -> str | None:
        """A setting; None if it may not be asked for, or is not known there."""
        return None if self.config is None else self.config.get(name)
