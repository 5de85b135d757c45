"""Barriers that the server answers when earlier writes on the connection are durable: no I/O.

`WAIT` and `WAITAOF` are about what their own connection wrote. A call that writes nothing, because
another connection did the same call before, would pass the barrier at once, however far the first
write had come. So a marker follows each call: a write in its slot, which leaves nothing behind.
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

# Sent as a whole source: the call before it must not be repeated to load the script.
_MARKER_SOURCE: Final = "\n".join(
    line for line in MARKER.source.splitlines() if not line.startswith("-- ")
)

_PERMANENT: Final = ("unknown command", "appendonly is disabled", "NOPERM")
"""What the text of a permanent error contains. Other errors pass, as during a failover."""


class DurabilityBarrier(msgspec.Struct, frozen=True):
    """The end of a batch of writes.

    Attributes:
        request: is answered when the writes are durable, or after the timeout.
        probe: is answered at once, with an error if the server does not support the barrier.
        timeout_s: seconds that the server may take for it.
        replicas: how many must confirm.
        on_disk: whether it waits for disks, first of all the server's own.
    """

    request: Request
    probe: Request
    timeout_s: float
    replicas: int
    on_disk: bool

    @classmethod
    def of(cls, durability: Durability) -> Self:
        """Return the barrier that makes writes as durable as that."""
        ms, replicas = to_ms(durability.timeout), durability.replicas
        match durability:
            case Replicated():
                whole, probe = Request.of("WAIT", replicas, ms), Request.of("WAIT", 0, 1)
            case Fsynced():
                whole = Request.of("WAITAOF", 1, replicas, ms)
                probe = Request.of("WAITAOF", 1, 0, 1)
        return cls(whole, probe, ms / 1000, replicas, isinstance(durability, Fsynced))

    def missing(self, reply: Any) -> str:
        """Return what is missing, from the server's *reply*; an empty text if nothing is."""
        here, confirmed = map(int, reply) if self.on_disk else (1, int(reply))
        within = f"within {self.timeout_s:g} s"
        if not here:
            return f"it was not on disk {within}"
        if confirmed < self.replicas:
            return f"{confirmed} of {self.replicas} replicas confirmed it {within}"
        return ""


def marker(unit: Unit) -> Request:
    """Return the request between a call about *unit* and the barrier."""
    return Request.of("EVAL", _MARKER_SOURCE, 1, unit.key("marker"))


def is_permanent(error: str) -> bool:
    """Return whether a server that answers a probe with this *error* supports no barrier."""
    return any(text in error for text in _PERMANENT)
