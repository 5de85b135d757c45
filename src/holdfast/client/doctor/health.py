"""How a server fares: judged from what every user of Holdfast may ask."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from .finding import Finding

if TYPE_CHECKING:
    from ..server_facts import ServerFacts

FULL: Final = 0.9
"""Of the memory limit, from which on it is nearly used up."""

LAGGING_S: Final = 10.0
"""A replica that was not heard of for so long is behind."""


def health(one: ServerFacts) -> Iterator[Finding]:
    """What is wrong with a server now."""
    at = one.address
    if not one.persists:
        yield Finding(
            "error",
            "it cannot write to its disk",
            "what is acknowledged is kept in memory only, or every write is refused",
            "look at its log; then BGSAVE, and BGREWRITEAOF if it appends to a file",
            at,
        )
    if one.eviction != "noeviction":
        yield Finding(
            "error" if one.evicted else "warning",
            f"when it is full it drops what was acknowledged ({one.eviction})",
            f"{one.evicted:,} keys are gone so far: tasks, messages and fences may be among them"
            if one.evicted
            else "tasks, messages and fences may be among the keys that it drops",
            "CONFIG SET maxmemory-policy noeviction",
            at,
        )
    if one.memory_limit and one.memory > FULL * one.memory_limit:
        yield Finding(
            "error",
            f"its memory is {100 * one.memory / one.memory_limit:.0f} % used",
            "at the limit it refuses whatever adds: tasks, messages, locks",
            f"CONFIG SET maxmemory {2 * one.memory_limit}, if the machine has as much",
            at,
        )
    for replica in one.replicas:
        if not replica.online:
            yield Finding(
                "warning",
                f"its replica {replica.address} does not follow",
                "it cannot take over, and would come back without what was acknowledged meanwhile",
                f"INFO replication on {replica.address}, and its log, say why",
                at,
            )
        elif replica.lag > LAGGING_S:
            yield Finding(
                "warning",
                f"its replica {replica.address} was not heard of for {replica.lag:.0f} s",
                f"taking over now it would lack the last {replica.behind:,} bytes",
                f"INFO replication on {replica.address}, and the network between, say why",
                at,
            )
