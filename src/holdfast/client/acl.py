"""The least that a user of the server needs for one namespace."""

from __future__ import annotations

from typing import Final

from ..core.names import Namespace

SCRIPTED: Final = (
    "del exists expire expireat get hdel hexists hget hgetall hincrby hlen hmget hrandfield hset "
    "hstrlen lindex llen lpop lpush lrange lrem ltrim mget pexpire pttl rename rpush sadd scard "
    "set sismember spublish srem time unlink xadd xrange xrevrange xtrim zadd zcard zcount zincrby "
    "zmscore zpopmin zrange zrem zremrangebyscore zscore"
)
"""What scripts run: the server checks each of their commands as if the user had sent it."""

DIRECT: Final = (
    "cluster|slots eval evalsha hscan info memory|usage scan sscan ssubscribe sunsubscribe type "
    "xlen zlexcount zrevrange zscan"
)
"""What clients send beside scripts."""

CONNECTION: Final = (
    "+@connection -@dangerous -@admin "
    "-client|caching -client|getredir -client|tracking -client|trackinginfo"
)
"""What a connection needs, such as SELECT, ASKING, WAIT, WAITAOF and CLIENT SETINFO.

A category, because Redis 7.0 refuses a rule with the last two: it does not have them yet. CLIENT
TRACKING would tell the names of all keys that anybody changes.
"""


def acl_rule(namespace: str = "holdfast") -> str:
    """Return the rule for `ACL SETUSER` that allows what Holdfast does in *namespace*, and no more.

        ACL SETUSER app <rule> on >password

    The rule begins with `reset`, which takes all that the user had before, the password included:
    so `on` and the password come after it. Keys and channels outside the namespace stay closed, and
    so does everything that administers the server. docs/security.md says what stays open.
    """
    prefix = Namespace.of(namespace).prefix
    allowed = " ".join(f"+{command}" for command in sorted(f"{DIRECT} {SCRIPTED}".split()))
    return f"reset ~{prefix}* resetchannels &{prefix}* {CONNECTION} {allowed}"
