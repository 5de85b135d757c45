"""Define the smallest set of rights that a user of the server needs for one namespace."""

from __future__ import annotations

from typing import Final

from ..core.names import Namespace

SCRIPTED: Final = (
    "del exists expire expireat get hdel hexists hget hgetall hincrby hlen hmget hrandfield hset "
    "hsetnx hstrlen lindex llen lpop lpush lrange lrem ltrim mget pexpire pttl rename rpush sadd "
    "scard set sismember spublish srem time type unlink xadd xrange xread xrevrange xtrim zadd "
    "zcard zcount zincrby zinter zmscore zpopmin zrange zrem zremrangebyscore zscore"
)
"""Commands in scripts. The server checks the right to each as if the user had sent it."""

DIRECT: Final = (
    "cluster|slots eval evalsha hscan info memory|usage scan sscan ssubscribe sunsubscribe "
    "xlen zlexcount zrevrange zscan"
)
"""Commands that clients send outside scripts."""

CONNECTION: Final = (
    "+@connection -@dangerous -@admin "
    "-client|caching -client|getredir -client|tracking -client|trackinginfo"
)
"""Commands that a connection needs, such as SELECT, ASKING, WAIT, WAITAOF and CLIENT SETINFO.

The rule names a category of commands, because Redis 7.0 does not know WAITAOF and CLIENT SETINFO,
and would reject a rule that names them. CLIENT TRACKING is excluded, because it would show the
names of all keys that other users change.
"""


NEAR: Final = "+client|tracking +subscribe +cluster|nodes"
"""Commands that near caches need in addition: to track keys, to subscribe to the channel of
invalidations (RESP 2), and to check that a node of a cluster still owns its slots."""

NEAR_CHANNEL: Final = "__redis__:invalidate"


def acl_rule(namespace: str = "holdfast", *, near: bool = False) -> str:
    """Return the rule for `ACL SETUSER` that allows what Holdfast needs in *namespace*.

        ACL SETUSER app <rule> on >password

    The rule begins with `reset`, which removes all rights of the user and its password. So write
    `on` and the password after the rule. It allows neither keys and channels outside the namespace
    nor commands that administer the server. docs/security.md lists what it does allow.

    Args:
        namespace: namespace of the user.
        near: whether the user may use near caches (`near=` of `row_cache`). The user can then also
            see the names of all keys that other users change, but not their values.
    """
    prefix = Namespace.of(namespace).prefix
    allowed = " ".join(f"+{command}" for command in sorted(f"{DIRECT} {SCRIPTED}".split()))
    rule = f"reset ~{prefix}* resetchannels &{prefix}* {CONNECTION} {allowed}"
    return f"{rule} &{NEAR_CHANNEL} {NEAR}" if near else rule
