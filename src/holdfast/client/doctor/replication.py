"""Find problems of replication and of the cluster."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from ...core.transport.slots import SLOTS
from ..finding import Finding, Severity
from .snapshots import ServerSnapshot


def replication(one: ServerSnapshot) -> Iterator[Finding]:
    """Yield findings about replication that may cost data when the server fails."""
    at, online = one.address, [each for each in one.facts.replicas if each.online]
    if one.info.get("role") == "slave":
        yield Finding(
            Severity.ERROR,
            "it is a replica",
            "it refuses every write",
            "connect to its primary, or through Sentinel: redis+sentinel://…",
            at,
        )
        return
    if one.info.get("loading", "0") != "0":
        yield Finding(
            Severity.WARNING,
            "it is loading its data",
            "until then it refuses every command",
            "wait; INFO persistence shows the progress",
            at,
        )
    if not online:
        yield Finding(
            Severity.NOTE if one.topology == "standalone" else Severity.WARNING,
            "it has no replica that follows",
            "nothing takes over when it is lost, and with its disk its data are gone",
            f"REPLICAOF {' '.join(at.rsplit(':', 1))}, on another server"
            if ":" in at
            else "give it a port, and on another server: REPLICAOF host port",
            at,
        )
    elif one.setting("min-replicas-to-write") == "0":
        yield Finding(
            Severity.WARNING if one.topology == "sentinel" else Severity.NOTE,
            "it accepts writes when no replica follows",
            "when it is cut off, it acknowledges writes that the failover then drops",
            "CONFIG SET min-replicas-to-write 1",
            at,
        )
    if one.topology == "cluster" and one.setting("cluster-require-full-coverage") == "yes":
        yield Finding(
            Severity.WARNING,
            "it refuses every call while any slot of the cluster has no server",
            "when one primary is lost, units on all others wait until a replica takes over",
            "CONFIG SET cluster-require-full-coverage no",
            at,
        )


def unreachable(address: str, reason: str) -> Iterator[Finding]:
    """Yield a finding about a primary of a cluster that does not answer because of *reason*."""
    yield Finding(
        Severity.ERROR,
        f"it does not answer: {reason.removeprefix(f'{address}: ').rstrip('.')}",
        "units in its slots cannot be used until it is back, or a replica takes over",
        "start it; or, on one of its replicas: CLUSTER FAILOVER TAKEOVER",
        address,
    )


def coverage(slots: Sequence[Any]) -> Iterator[Finding]:
    """Yield a finding if slots have no server; *slots* is the reply to `CLUSTER SLOTS`."""
    covered: set[int] = set()
    for first, last, *_ in slots:
        covered.update(range(first, last + 1))
    if missing := SLOTS - len(covered):
        first = next(slot for slot in range(SLOTS) if slot not in covered)
        yield Finding(
            Severity.ERROR,
            f"{missing:,} slots of the cluster have no server, such as {first}",
            "units in them cannot be used; by default, no unit can",
            "valkey-cli --cluster fix, with the address of any node",
        )


def cluster_state(address: str, state: dict[str, str]) -> Iterator[Finding]:
    """Yield problems that a node reports; *state* has the fields of `CLUSTER INFO`."""
    if state.get("cluster_state", "ok") != "ok":
        yield Finding(
            Severity.ERROR,
            "it reports that the cluster is down",
            "it refuses every call",
            "CLUSTER NODES shows which nodes are missing; start them, or fail over",
            address,
        )
    unreachable = int(state.get("cluster_slots_pfail", 0)) + int(state.get("cluster_slots_fail", 0))
    if unreachable:
        yield Finding(
            Severity.WARNING,
            f"it does not reach the servers of {unreachable:,} slots",
            "a failover may be under way; until it ends, calls to them wait or fail",
            "CLUSTER NODES shows which nodes these are",
            address,
        )
