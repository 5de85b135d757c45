"""What a user of Holdfast needs to be allowed, and what it does not; see `acl_rule`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from ...core.names import Unit

Command = tuple[str | int, ...]


@dataclass(frozen=True, slots=True)
class Need:
    """A command that Holdfast sends, in a form that changes nothing.

    Attributes:
        told: as a finding names it.
        command: on a unit that is not there.
        topology: where it is needed; empty: everywhere.
    """

    told: str
    command: Callable[[Unit], Command]
    topology: str = ""


def _on_key(*words: str) -> Need:
    """A command on a key of the unit: the first word, the key, the others."""
    name, *others = words
    return Need(f"{name} on its keys", lambda unit: (name, unit.key("nothing"), *others))


_NO = "nothing"

_KEYLESS: Final = (
    Need("TIME", lambda _: ("TIME",)),
    Need("INFO", lambda _: ("INFO", "server")),
    Need("WAIT", lambda _: ("WAIT", 0, 0)),
    Need("EVAL", lambda unit: ("EVAL", "#!lua flags=no-writes\nreturn 1", 1, unit.key(_NO))),
    Need("EVALSHA", lambda unit: ("EVALSHA", "0" * 40, 1, unit.key(_NO))),
    Need("SPUBLISH on its channels", lambda unit: ("SPUBLISH", unit.key(_NO), "")),
    Need("RENAME on its keys", lambda unit: ("RENAME", unit.key(_NO), unit.key(_NO))),
    Need("MEMORY USAGE on its keys", lambda unit: ("MEMORY", "USAGE", unit.key(_NO))),
    Need("CLUSTER SLOTS", lambda _: ("CLUSTER", "SLOTS"), "cluster"),
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
"""On a key that is not there they change nothing, or are refused once the user may send them. For
LPUSH, RPUSH and SADD there is no such form."""

NEEDED: Final = (
    *_KEYLESS,
    *(_on_key(*words.split(" ")) for words in (*_READING, *_CHANGING)),
)

BEYOND: Final[tuple[tuple[str, Callable[[Unit], Command]], ...]] = (
    ("use keys outside its namespace", lambda unit: ("EXISTS", unit.key(_NO))),
    ("administer the server", lambda _: ("ACL", "USERS")),
    ("stop the server for all others with SCRIPT DEBUG", lambda _: ("SCRIPT", "DEBUG", "NO")),
    ("list the channels of others", lambda unit: ("PUBSUB", "CHANNELS", unit.key(_NO))),
)
"""What Holdfast does not need."""
