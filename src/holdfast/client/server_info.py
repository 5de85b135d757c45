"""Parse the replies to `INFO`, `SLOWLOG GET` and `CLUSTER INFO`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Final

from .server_facts import Replica, ServerFacts, SlowCommand

SLOW_LISTED: Final = 32
"""Number of entries of the slow log that are read."""

_LONGEST_KEY: Final = 200
_SCRIPTS: Final = ("EVAL", "EVALSHA", "EVAL_RO", "EVALSHA_RO", "FCALL", "FCALL_RO")


def parse_facts(
    address: tuple[str, int],
    database: int,
    info: bytes,
    fsync: str | None,
    slow: Sequence[Any] | None,
) -> ServerFacts:
    """Return the facts of one server, from its replies.

    Args:
        address: address of the server.
        database: number of the database that the client uses.
        info: reply to `INFO`.
        fsync: the setting `appendfsync`; None if the user may not read it.
        slow: reply to `SLOWLOG GET`; None if the user may not read it.
    """
    values = fields(info)
    software = values.get("server_name") or "redis"
    saved_s = int(values.get("rdb_last_save_time", 0))
    appends = values.get("aof_enabled") == "1"
    return ServerFacts(
        address=_address_text(address),
        software=software,
        version=values.get(f"{software}_version", values.get("redis_version", "")),
        uptime=float(values.get("uptime_in_seconds", 0)),
        memory=int(values.get("used_memory", 0)),
        memory_peak=int(values.get("used_memory_peak", 0)),
        memory_limit=int(values.get("maxmemory", 0)) or None,
        eviction=values.get("maxmemory_policy", ""),
        evicted=int(values.get("evicted_keys", 0)),
        clients=int(values.get("connected_clients", 0)),
        commands_per_second=float(values.get("instantaneous_ops_per_sec", 0)),
        keys=int(_pairs(values.get(f"db{database}", "")).get("keys", 0)),
        appends=appends,
        fsync=fsync if appends else None,
        persists=_persists(values),
        saved_at=datetime.fromtimestamp(saved_s, UTC) if saved_s else None,
        replicas=tuple(_replicas(values)),
        slow=None if slow is None else tuple(map(_slow_command, slow)),
    )


def fields(info: bytes) -> dict[str, str]:
    """Return the fields of a reply to `INFO` or `CLUSTER INFO`."""
    lines = info.decode(errors="replace").splitlines()
    pairs = (line.partition(":") for line in lines if line and not line.startswith("#"))
    return {name: value for name, _, value in pairs}


def _pairs(text: str) -> dict[str, str]:
    """Return the names and values in a text such as `keys=3,expires=0`."""
    return {name: value for name, _, value in (part.partition("=") for part in text.split(","))}


def _persists(values: Mapping[str, str]) -> bool:
    names = ("rdb_last_bgsave_status", "aof_last_write_status", "aof_last_bgrewrite_status")
    return all(values.get(name, "ok") == "ok" for name in names)


def _replicas(values: Mapping[str, str]) -> list[Replica]:
    offset = int(values.get("master_repl_offset", 0))
    found = []
    for n in range(int(values.get("connected_slaves", 0))):
        one = _pairs(values.get(f"slave{n}", ""))
        found.append(
            Replica(
                address=_address_text((one.get("ip", "?"), int(one.get("port", 0)))),
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


def _address_text(address: tuple[str, int]) -> str:
    host, port = address
    if not port:
        return host  # a unix socket
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
