"""Finds the commands that a worker needs, and that its user may not run."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

from ...core._async.caller import AsyncCaller
from ...core.names import Unit
from ...core.script import Script

PERMISSIONS: Final = Script.load("holdfast.queues", "permissions")

HINT: Final = "SPUBLISH"
"""The only command that is optional: without it, a worker finds new tasks up to 1 s later."""

_COMMAND: Final = re.compile(r"redis\.p?call\('([A-Z]+)'")

_WITHOUT_KEY: Final = "TIME"
"""A command that takes no key. `permissions.lua` itself calls it."""

ARGUMENTS: Final = {
    "EXPIREAT": "1",
    "HDEL": "field",
    "HEXISTS": "field",
    "HGET": "field",
    "HINCRBY": "field 1",
    "HMGET": "field",
    "HRANDFIELD": "1",
    "HSET": "field value",
    "HSETNX": "field value",
    "HSTRLEN": "field",
    "LINDEX": "0",
    "LPUSH": "value",
    "LRANGE": "0 0",
    "LREM": "0 value",
    "LTRIM": "0 0",
    "EXPIRE": "1",
    "PEXPIRE": "1",
    "RENAME": "key",
    "RPUSH": "value",
    "SADD": "member",
    "SET": "value",
    "SISMEMBER": "member",
    "SPUBLISH": "message",
    "SREM": "member",
    "XADD": "* field value",
    "XRANGE": "- + COUNT 1",
    "XREVRANGE": "+ - COUNT 1",
    "XTRIM": "MAXLEN 0",
    "ZADD": "0 member",
    "ZCOUNT": "0 0",
    "ZINCRBY": "1 member",
    "ZMSCORE": "member",
    "ZRANGE": "0 0",
    "ZREM": "member",
    "ZREMRANGEBYSCORE": "0 0",
    "ZSCORE": "member",
}
"""Command → the arguments after its key, for a trial. Other commands need none."""


def commands_of(scripts: Iterable[Script]) -> list[str]:
    """Return the commands that *scripts* send for a key."""
    found = {name for script in scripts for name in _COMMAND.findall(script.source)}
    return sorted(found - {_WITHOUT_KEY})


async def denied_commands(caller: AsyncCaller, unit: Unit, commands: Iterable[str]) -> list[str]:
    """Return which *commands* the server of *unit* does not let this user run.

    Raises:
        ServerUnavailable: the server does not answer, or denies scripts.
        OutcomeUnknown: the reply was lost.
    """
    lines = [f"{name} {ARGUMENTS.get(name, '')}".strip() for name in commands]
    denied = await caller.call(PERMISSIONS, unit, PERMISSIONS.keys(unit), lines)
    return [name.decode() for name in denied]
