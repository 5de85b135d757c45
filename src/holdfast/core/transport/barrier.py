"""Define barriers: commands that the server answers when earlier writes are durable. No I/O.

`WAIT` and `WAITAOF` wait only for the writes of their own connection. Assume a call is repeated
over another connection, and the ledger returns its stored answer: it writes nothing, so the barrier
would be answered although the first write may not be durable yet. So a *marker* follows each call:
a write in the same slot, which leaves no key.
"""

from __future__ import annotations

from typing import Any, Final, Self

import msgspec

from ..clock import to_ms
from ..durability import Durability, Fsynced, Replicated
from ..names import Unit
from ..script import Script
from .request import Request

MARKER: Final = Script.load("holdfast.core", "marker")

# The marker is sent with EVAL and its source. With EVALSHA, an unknown hash would require repeating
# the call before it.
_MARKER_SOURCE: Final = "\n".join(
    line for line in MARKER.source.splitlines() if not line.startswith("-- ")
)

_PERMANENT: Final = ("unknown command", "appendonly is disabled", "NOPERM")
"""Texts in errors that mean that the server does not support the barrier. Other errors, for example
during a failover, are temporary."""


class DurabilityBarrier(msgspec.Struct, frozen=True):
    """The barrier after a batch of writes.

    Attributes:
        request: the barrier. The server answers when the writes are durable, or after the timeout.
        probe: a command that the server answers at once, with an error if it does not support the
            barrier.
        timeout_s: timeout in seconds.
        replicas: number of replicas that must confirm.
        on_disk: whether the writes must be on the disks of the server and of the replicas.
    """

    request: Request
    probe: Request
    timeout_s: float
    replicas: int
    on_disk: bool

    @classmethod
    def of(cls, durability: Durability) -> Self:
        """Return the barrier for *durability*."""
        ms, replicas = to_ms(durability.timeout), durability.replicas
        match durability:
            case Replicated():
                whole, probe = Request.of("WAIT", replicas, ms), Request.of("WAIT", 0, 1)
            case Fsynced():
                whole = Request.of("WAITAOF", 1, replicas, ms)
                probe = Request.of("WAITAOF", 1, 0, 1)
        return cls(whole, probe, ms / 1000, replicas, isinstance(durability, Fsynced))

    def missing(self, reply: Any) -> str:
        """Return from the *reply* why the writes are not durable; empty if they are."""
        here, confirmed = map(int, reply) if self.on_disk else (1, int(reply))
        within = f"within {self.timeout_s:g} s"
        if not here:
            return f"it was not on disk {within}"
        if confirmed < self.replicas:
            return f"{confirmed} of {self.replicas} replicas confirmed it {within}"
        return ""


def marker(unit: Unit) -> Request:
    """Return the marker that follows a call about *unit*."""
    return Request.of("EVAL", _MARKER_SOURCE, 1, unit.key("marker"))


def is_permanent(error: str) -> bool:
    """Return whether *error*, the reply to a probe, means that the barrier is not supported."""
    return any(text in error for text in _PERMANENT)
