"""Find settings of a server that may cost data or time."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from ..finding import Finding, Severity
from .snapshots import ServerSnapshot

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
"""Names of the settings that are read; none of them is secret."""

CROWDED: Final = 0.8
"""Fraction of the allowed connections in use above which a warning is given."""

LARGE: Final = 0.5
"""Fraction of the machine's memory in use above which a missing limit is a warning, not a note."""

SHORT_TIMEOUT_S: Final = 60
SHORT_SCRIPT_MS: Final = 500
SMALL_BUFFER: Final = 2**20


def settings(one: ServerSnapshot) -> Iterator[Finding]:
    """Yield findings about settings that may cost data or time."""
    yield from _persistence(one)
    yield from _memory(one)
    yield from _connections(one)
    if one.config is None:
        yield Finding(
            Severity.NOTE,
            "this user may not read the settings",
            "unknown are: whether each write is on disk before its reply, whether it accepts "
            "writes when it is cut off, and how connections are limited",
            f"ACL SETUSER {one.login.user} +config|get, or run this as an administrator",
            one.address,
        )
        return
    yield from _scripts(one)
    yield from _subscribers(one)


def _persistence(one: ServerSnapshot) -> Iterator[Finding]:
    at, facts = one.address, one.facts
    if not facts.appends:
        yield Finding(
            Severity.WARNING,
            "it does not append writes to a file",
            "a restart loses everything"
            if one.setting("save") == ""
            else "a restart loses the writes since the last copy, or everything without a copy",
            "CONFIG SET appendonly yes, then CONFIG REWRITE",
            at,
        )
    elif facts.fsync == "no":
        yield Finding(
            Severity.WARNING,
            "the operating system decides when writes reach the disk",
            "a crash of the machine may lose half a minute of what was acknowledged",
            "CONFIG SET appendfsync always (or everysec)",
            at,
        )
    elif facts.fsync == "everysec":
        yield Finding(
            Severity.NOTE,
            "writes reach the disk once a second",
            "a crash of the machine, not of the server, may lose the last two seconds",
            "CONFIG SET appendfsync always, if no acknowledged write may be lost",
            at,
        )


def _memory(one: ServerSnapshot) -> Iterator[Finding]:
    if one.facts.memory_limit is not None:
        return
    total = int(one.info.get("total_system_memory", 0))
    large = total > 0 and one.facts.memory > LARGE * total
    yield Finding(
        Severity.WARNING if large else Severity.NOTE,
        "its memory has no limit",
        "when the machine has no more, the system kills it; with a limit it would refuse writes"
        + (f"; it uses {100 * one.facts.memory / total:.0f} % of the machine's" if large else ""),
        f"CONFIG SET maxmemory {int(total * 0.7) or '<bytes>'}",
        one.address,
    )


def _connections(one: ServerSnapshot) -> Iterator[Finding]:
    at = one.address
    most = int(one.setting("maxclients") or one.info.get("maxclients") or 0)
    if most and one.facts.clients > CROWDED * most:
        yield Finding(
            Severity.WARNING,
            f"{one.facts.clients:,} of {most:,} connections are taken",
            "beyond them it refuses workers, producers and the dashboard",
            f"CONFIG SET maxclients {2 * most}, or find out who has them: CLIENT LIST",
            at,
        )
    if one.setting("tcp-keepalive") == "0":
        yield Finding(
            Severity.WARNING,
            "it never checks whether its connections are alive",
            "connections of machines that vanished stay open and use memory",
            "CONFIG SET tcp-keepalive 300",
            at,
        )
    timeout_s = int(one.setting("timeout") or 0)
    if 0 < timeout_s < SHORT_TIMEOUT_S:
        yield Finding(
            Severity.NOTE,
            f"it closes connections that are idle for {timeout_s} s",
            "opening them again costs a round trip or more each time",
            "CONFIG SET timeout 0",
            at,
        )


def _scripts(one: ServerSnapshot) -> Iterator[Finding]:
    limit_ms = int(one.setting("busy-reply-threshold") or 5000)
    if limit_ms <= 0:
        yield Finding(
            Severity.NOTE,
            "slow scripts are never reported",
            "other clients wait for them, and an administrator cannot stop them",
            "CONFIG SET busy-reply-threshold 5000",
            one.address,
        )
    elif limit_ms < SHORT_SCRIPT_MS:
        yield Finding(
            Severity.WARNING,
            f"scripts count as hanging after {limit_ms} ms",
            "on a busy machine, calls fail that would have succeeded",
            "CONFIG SET busy-reply-threshold 5000",
            one.address,
        )


def _subscribers(one: ServerSnapshot) -> Iterator[Finding]:
    """Yield a finding if the limit for unread messages of subscribers is missing or small.

    The setting has four words for each class of clients, such as `pubsub 33554432 8388608 60`.
    """
    words = (one.setting("client-output-buffer-limit") or "").split()
    if "pubsub" not in words:
        return
    hard = int(words[words.index("pubsub") + 1])
    fix = "CONFIG SET client-output-buffer-limit 'pubsub 33554432 8388608 60'"
    if hard == 0:
        yield Finding(
            Severity.NOTE,
            "the unread messages of a subscriber have no limit",
            "a subscriber that hangs can fill the memory",
            fix,
            one.address,
        )
    elif hard < SMALL_BUFFER:
        yield Finding(
            Severity.WARNING,
            f"subscribers are disconnected at {hard:,} unread bytes",
            "each time, notifications reach workers and waiters up to a second late",
            fix,
            one.address,
        )
