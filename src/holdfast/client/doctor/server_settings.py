"""Settings of a server that may cost data or time."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from .finding import Finding
from .snapshots import Examined

ASKED: Final = (
    "appendfsync",
    "bind",
    "busy-reply-threshold",
    "client-output-buffer-limit",
    "cluster-require-full-coverage",
    "maxclients",
    "min-replicas-to-write",
    "protected-mode",
    "save",
    "tcp-keepalive",
    "timeout",
)
"""What is asked for; passwords are not."""

CROWDED: Final = 0.8
"""Of the connections that a server takes."""

LARGE: Final = 0.5
"""Of the machine's memory, for a server that has no limit."""

SHORT_TIMEOUT_S: Final = 60
SHORT_SCRIPT_MS: Final = 500
SMALL_BUFFER: Final = 2**20


def settings(one: Examined) -> Iterator[Finding]:
    """What its settings may lead to."""
    yield from _persistence(one)
    yield from _memory(one)
    yield from _connections(one)
    if one.config is None:
        yield Finding(
            "note",
            "this user may not look at the settings",
            "whether each write is on disk before it is answered, whether it goes on writing when "
            "it is cut off, and how connections are limited, stays unknown here",
            f"ACL SETUSER {one.login.user} +config|get, or run this as an administrator",
            one.address,
        )
        return
    yield from _scripts(one)
    yield from _bells(one)


def _persistence(one: Examined) -> Iterator[Finding]:
    at, facts = one.address, one.facts
    if not facts.appends:
        yield Finding(
            "warning",
            "it does not append writes to a file",
            "a restart loses everything"
            if one.setting("save") == ""
            else "a restart loses what came after the last copy, or everything if there is none",
            "CONFIG SET appendonly yes, then CONFIG REWRITE",
            at,
        )
    elif facts.fsync == "no":
        yield Finding(
            "warning",
            "it leaves to the system when writes reach the disk",
            "a crash of the machine may lose half a minute of what was acknowledged",
            "CONFIG SET appendfsync always (or everysec)",
            at,
        )
    elif facts.fsync == "everysec":
        yield Finding(
            "note",
            "writes reach the disk once a second",
            "a crash of the machine, not of the server, may lose the last two seconds",
            "CONFIG SET appendfsync always, if no acknowledged write may be lost",
            at,
        )


def _memory(one: Examined) -> Iterator[Finding]:
    if one.facts.memory_limit is not None:
        return
    whole = int(one.info.get("total_system_memory", 0))
    large = whole > 0 and one.facts.memory > LARGE * whole
    yield Finding(
        "warning" if large else "note",
        "its memory has no limit",
        "when the machine has no more the system kills it, where a limit would refuse what adds"
        + (f"; it uses {100 * one.facts.memory / whole:.0f} % of the machine's" if large else ""),
        f"CONFIG SET maxmemory {int(whole * 0.7) or '<bytes>'}",
        one.address,
    )


def _connections(one: Examined) -> Iterator[Finding]:
    at = one.address
    most = int(one.setting("maxclients") or one.info.get("maxclients") or 0)
    if most and one.facts.clients > CROWDED * most:
        yield Finding(
            "warning",
            f"{one.facts.clients:,} of {most:,} connections are taken",
            "beyond them it refuses workers, producers and the dashboard alike",
            f"CONFIG SET maxclients {2 * most}, or find out who has them: CLIENT LIST",
            at,
        )
    if one.setting("tcp-keepalive") == "0":
        yield Finding(
            "warning",
            "it never looks whether its connections are alive",
            "those of machines that vanished stay, and take up room, for ever",
            "CONFIG SET tcp-keepalive 300",
            at,
        )
    timeout_s = int(one.setting("timeout") or 0)
    if 0 < timeout_s < SHORT_TIMEOUT_S:
        yield Finding(
            "note",
            f"it closes connections that are silent for {timeout_s} s",
            "they are opened anew when they are needed, which costs a round trip or more each time",
            "CONFIG SET timeout 0",
            at,
        )


def _scripts(one: Examined) -> Iterator[Finding]:
    limit_ms = int(one.setting("busy-reply-threshold") or 5000)
    if limit_ms <= 0:
        yield Finding(
            "note",
            "scripts that take long are never reported",
            "nobody else is answered meanwhile, nor may an administrator stop them",
            "CONFIG SET busy-reply-threshold 5000",
            one.address,
        )
    elif limit_ms < SHORT_SCRIPT_MS:
        yield Finding(
            "warning",
            f"scripts are called hanging after {limit_ms} ms",
            "on a busy machine calls are refused that would have gone well",
            "CONFIG SET busy-reply-threshold 5000",
            one.address,
        )


def _bells(one: Examined) -> Iterator[Finding]:
    """Of `normal 0 0 0 replica 268435456 67108864 60 pubsub 33554432 8388608 60`."""
    words = (one.setting("client-output-buffer-limit") or "").split()
    if "pubsub" not in words:
        return
    hard = int(words[words.index("pubsub") + 1])
    mend = "CONFIG SET client-output-buffer-limit 'pubsub 33554432 8388608 60'"
    if hard == 0:
        yield Finding(
            "note",
            "what subscribers have not read yet has no limit",
            "one that hangs can fill the memory",
            mend,
            one.address,
        )
    elif hard < SMALL_BUFFER:
        yield Finding(
            "warning",
            f"subscribers are cut off once {hard:,} bytes wait for them",
            "workers and waiters hear of news up to a second late, each time",
            mend,
            one.address,
        )
