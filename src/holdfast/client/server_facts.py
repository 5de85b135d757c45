"""How a server is, as `INFO` and its like tell it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final, Literal

from .doctor.finding import Finding
from .doctor.health import health

Topology = Literal["standalone", "sentinel", "cluster"]

SLOW_LISTED: Final = 32
"""Entries of the slow log that are asked for."""

_LONGEST_KEY: Final = 200
_SCRIPTS: Final = ("EVAL", "EVALSHA", "EVAL_RO", "EVALSHA_RO", "FCALL", "FCALL_RO")


@dataclass(frozen=True, slots=True)
class Replica:
    """A copy of a server.

    Attributes:
        address: `host:port`, as the server knows it.
        online: whether it follows; else it is being filled.
        lag: seconds since it was last heard of.
        behind: bytes of the stream that it has not acknowledged.
    """

    address: str
    online: bool
    lag: float
    behind: int


@dataclass(frozen=True, slots=True)
class SlowCommand:
    """An entry of the slow log. What was written is left out: it may be secret.

    Attributes:
        at: when it ran.
        took: seconds.
        command: its first word.
        key: its first key; empty for commands without one.
    """

    at: datetime
    took: float
    command: str
    key: str


@dataclass(frozen=True, slots=True)
class ServerFacts:
    """One server that holds data: the only one, the primary, or a primary of a cluster.

    Attributes:
        address: where it is.
        software: `valkey` or `redis`.
        version: of that.
        uptime: seconds since it started.
        memory: bytes that it uses.
        memory_peak: the most it has used.
        memory_limit: bytes at which it refuses or evicts; None: no limit.
        eviction: its policy; anything but `noeviction` may drop what was acknowledged.
        evicted: keys that it has dropped for want of memory.
        clients: connections.
        commands_per_second: at the moment.
        keys: in the database that is used.
        appends: whether it writes each change to a file (AOF).
        fsync: `always`, `everysec` or `no`; None if it does not append, or may not be asked.
        persists: whether the last writes to disk went well.
        saved_at: when it last saved a whole copy (RDB), or started.
        replicas: its copies.
        slow: the latest slow commands, the latest first; None if it may not be asked.
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
    def troubles(self) -> tuple[Finding, ...]:
        """What is wrong with it now, as `hf.diagnose()` has it; that one knows more."""
        return tuple(health(self))


def facts(
    address: tuple[str, int],
    database: int,
    info: bytes,
    fsync: str | None,
    slow: Sequence[Any] | None,
) -> ServerFacts:
    """What the replies of one server say.

    Args:
        address: of the server.
        database: which one is used.
        info: the reply to `INFO`.
        fsync: the setting `appendfsync`, if it may be asked.
        slow: the reply to `SLOWLOG GET`, likewise.
    """
    said = fields(info)
    software = said.get("server_name") or "redis"
    saved_s = int(said.get("rdb_last_save_time", 0))
    appends = said.get("aof_enabled") == "1"
    return ServerFacts(
        address=_shown(address),
        software=software,
        version=said.get(f"{software}_version", said.get("redis_version", "")),
        uptime=float(said.get("uptime_in_seconds", 0)),
        memory=int(said.get("used_memory", 0)),
        memory_peak=int(said.get("used_memory_peak", 0)),
        memory_limit=int(said.get("maxmemory", 0)) or None,
        eviction=said.get("maxmemory_policy", ""),
        evicted=int(said.get("evicted_keys", 0)),
        clients=int(said.get("connected_clients", 0)),
        commands_per_second=float(said.get("instantaneous_ops_per_sec", 0)),
        keys=int(_pairs(said.get(f"db{database}", "")).get("keys", 0)),
        appends=appends,
        fsync=fsync if appends else None,
        persists=_goes_well(said),
        saved_at=datetime.fromtimestamp(saved_s, UTC) if saved_s else None,
        replicas=tuple(_replicas(said)),
        slow=None if slow is None else tuple(map(_slow_command, slow)),
    )


def fields(info: bytes) -> dict[str, str]:
    """Names and values of a reply to `INFO`, or to `CLUSTER INFO`."""
    lines = info.decode(errors="replace").splitlines()
    pairs = (line.partition(":") for line in lines if line and not line.startswith("#"))
    return {name: value for name, _, value in pairs}


def _pairs(text: str) -> dict[str, str]:
    """Of `keys=3,expires=0`."""
    return {name: value for name, _, value in (part.partition("=") for part in text.split(","))}


def _goes_well(said: Mapping[str, str]) -> bool:
    asked = ("rdb_last_bgsave_status", "aof_last_write_status", "aof_last_bgrewrite_status")
    return all(said.get(name, "ok") == "ok" for name in asked)


def _replicas(said: Mapping[str, str]) -> list[Replica]:
    offset = int(said.get("master_repl_offset", 0))
    found = []
    for n in range(int(said.get("connected_slaves", 0))):
        one = _pairs(said.get(f"slave{n}", ""))
        found.append(
            Replica(
                address=_shown((one.get("ip", "?"), int(one.get("port", 0)))),
                online=one.get("state") == "online",
                lag=float(one.get("lag", 0)),
                behind=max(0, offset - int(one.get("offset", 0))),
            )
        )
    return found


def _slow_command(entry: Sequence[Any]) -> SlowCommand:
    _, at_s, took_us, words, *_ = entry
    command = words[0].decode(errors="replace").upper()[:_LONGEST_KEY] if words else ""
    place = 3 if command in _SCRIPTS else 1
    key = words[place].decode(errors="backslashreplace")[:_LONGEST_KEY] if words[place:] else ""
    return SlowCommand(datetime.fromtimestamp(at_s, UTC), took_us / 1e6, command, key)


def _shown(address: tuple[str, int]) -> str:
    host, port = address
    if not port:
        return host  # a unix socket
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
