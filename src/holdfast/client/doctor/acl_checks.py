"""Define checks of the rights that Holdfast needs, and of rights that it does not need."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from ...core.names import Unit

Command = tuple[str | int, ...]


@dataclass(frozen=True, slots=True)
class AclCheck:
    """Define a command that tests a right of the user, without changing anything.

    Attributes:
        title: the right, as a finding names it.
        command: returns the command; called with a unit that does not exist.
        topology: `cluster` if Holdfast needs the right only there; empty if everywhere.
    """

    title: str
    command: Callable[[Unit], Command]
    topology: str = ""


def _on_key(*words: str) -> AclCheck:
    """Return the check of a command on a key: the first of *words*, the key, the other words."""
    name, *others = words
    return AclCheck(f"{name} on its keys", lambda unit: (name, unit.key("nothing"), *others))


_NO = "nothing"

_KEYLESS: Final = (
    AclCheck("TIME", lambda _: ("TIME",)),
    AclCheck("INFO", lambda _: ("INFO", "server")),
    AclCheck("WAIT", lambda _: ("WAIT", 0, 0)),
    AclCheck("EVAL", lambda unit: ("EVAL", "#!lua flags=no-writes\nreturn 1", 1, unit.key(_NO))),
    AclCheck("EVALSHA", lambda unit: ("EVALSHA", "0" * 40, 1, unit.key(_NO))),
    AclCheck("SPUBLISH on its channels", lambda unit: ("SPUBLISH", unit.key(_NO), "")),
    AclCheck("RENAME on its keys", lambda unit: ("RENAME", unit.key(_NO), unit.key(_NO))),
    AclCheck("XREAD on its keys", lambda unit: ("XREAD", "STREAMS", unit.key(_NO), "0")),
    AclCheck("ZINTER on its keys", lambda unit: ("ZINTER", 1, unit.key(_NO))),
    AclCheck("MEMORY USAGE on its keys", lambda unit: ("MEMORY", "USAGE", unit.key(_NO))),
    AclCheck("CLUSTER SLOTS", lambda _: ("CLUSTER", "SLOTS"), "cluster"),
)

_READING: Final = (
    "EXISTS", "GET", "HEXISTS field", "HGET field", "HGETALL", "HLEN", "HMGET field",
    "HSTRLEN field", "LINDEX 0", "LLEN", "LRANGE 0 0", "MGET", "PTTL", "SCARD", "SISMEMBER member",
    "TYPE", "XLEN", "XRANGE - +", "XREVRANGE + -", "ZCARD", "ZCOUNT 0 0", "ZLEXCOUNT - +",
    "ZMSCORE member", "ZRANGE 0 0", "ZREVRANGE 0 0", "ZSCORE member",
)  # fmt: skip

_CHANGING: Final = (
    "DEL", "EXPIRE 1", "EXPIREAT 1", "HDEL field", "HINCRBY field none", "HSET field value field",
    "LPOP", "LREM 0 value", "LTRIM 0 0", "PEXPIRE 1", "SET value XX", "SREM member", "UNLINK",
    "XADD none field value", "XTRIM MAXLEN 0", "ZADD XX 0 member", "ZINCRBY none member",
    "ZPOPMIN", "ZREM member", "ZREMRANGEBYSCORE 0 0",
)  # fmt: skip
"""Commands that change nothing on a missing key, or fail after the server has checked the right.
HSETNX, LPUSH, RPUSH and SADD cannot be tested in this way, because they would create the key."""

NEEDED: Final = (
    *_KEYLESS,
    *(_on_key(*words.split(" ")) for words in (*_READING, *_CHANGING)),
)

NEEDED_BY_NEAR_CACHES: Final = (
    AclCheck("CLIENT TRACKING", lambda _: ("CLIENT", "TRACKING", "OFF")),
    AclCheck("CLUSTER NODES", lambda _: ("CLUSTER", "NODES"), "cluster"),
)
"""Rights that only clients with near caches need. SUBSCRIBE, which RESP 2 needs, is not tested,
because afterwards the connection would accept no other command."""

NOT_NEEDED: Final = (
    AclCheck("use keys outside its namespace", lambda unit: ("EXISTS", unit.key(_NO))),
    AclCheck("administer the server", lambda _: ("ACL", "USERS")),
    AclCheck(
        "stop the server for all others with SCRIPT DEBUG", lambda _: ("SCRIPT", "DEBUG", "NO")
    ),
    AclCheck("list the channels of others", lambda unit: ("PUBSUB", "CHANNELS", unit.key(_NO))),
)
"""Checks of rights that Holdfast does not need."""
