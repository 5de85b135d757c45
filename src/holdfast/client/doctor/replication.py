"""How the servers stand to each other."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from ...core.transport.slots import SLOTS
from .finding import Finding
from .snapshots import Examined


def standing(one: Examined) -> Iterator[Finding]:
    """Whether its data outlive it."""
    at, online = one.address, [each for each in one.facts.replicas if each.online]
    if one.info.get("role") == "slave":
        yield Finding(
            "error",
            "it is a replica",
            "it refuses every write",
            "connect to its primary, or through Sentinel: redis+sentinel://…",
            at,
        )
        return
    if one.info.get("loading", "0") != "0":
        yield Finding(
            "warning",
            "it is loading its data",
            "until then it answers nobody",
            "wait; INFO persistence tells how far it is",
            at,
        )
    if not online:
        yield Finding(
            "note" if one.topology == "standalone" else "warning",
            "it has no replica that follows",
            "nothing takes over when it is lost, and with its disk its data are gone",
            f"REPLICAOF {' '.join(at.rsplit(':', 1))}, on another server"
            if ":" in at
            else "give it a port, and on another server: REPLICAOF host port",
            at,
        )
    elif one.setting("min-replicas-to-write") == "0":
        yield Finding(
            "warning" if one.topology == "sentinel" else "note",
            "it goes on writing when no replica hears it",
            "cut off from the others it acknowledges what the failover then drops",
            "CONFIG SET min-replicas-to-write 1",
            at,
        )
    if one.topology == "cluster" and one.setting("cluster-require-full-coverage") == "yes":
        yield Finding(
            "warning",
            "it refuses every call while any slot of the cluster has no server",
            "when one primary is lost, units on all others wait as well until it has a successor",
            "CONFIG SET cluster-require-full-coverage no",
            at,
        )


def coverage(slots: Sequence[Any]) -> Iterator[Finding]:
    """Of a cluster; *slots* is the reply to `CLUSTER SLOTS`."""
    covered: set[int] = set()
    for first, last, *_ in slots:
        covered.update(range(first, last + 1))
    if missing := SLOTS - len(covered):
        first = next(slot for slot in range(SLOTS) if slot not in covered)
        yield Finding(
            "error",
            f"{missing:,} slots of the cluster have no server, such as {first}",
            "units in them cannot be used, and by default none can",
            "valkey-cli --cluster fix, with the address of any node",
        )


def of_cluster(address: str, state: dict[str, str]) -> Iterator[Finding]:
    """What a node says of its cluster; *state* has the fields of `CLUSTER INFO`."""
    if state.get("cluster_state", "ok") != "ok":
        yield Finding(
            "error",
            "it says that the cluster is down",
            "it refuses every call",
            "CLUSTER NODES tells which nodes are missing; start them, or fail over",
            address,
        )
    doubtful = int(state.get("cluster_slots_pfail", 0)) + int(state.get("cluster_slots_fail", 0))
    if doubtful:
        yield Finding(
            "warning",
            f"it does not reach who serves {doubtful:,} slots",
            "a failover may be under way; meanwhile calls to them wait, and fail in time",
            "CLUSTER NODES tells which node is meant",
            address,
        )
