"""What goes after writes on their connection, and is answered when they are safe: pure data.

`WAIT` and `WAITAOF` are about what their own connection wrote. A call that writes nothing, because
it was made before on another connection, would be sealed at once however far that had come. So a
mark goes after each call: a write in its slot, which leaves nothing behind.
"""

from __future__ import annotations

from typing import Any, Final, Self

import msgspec

from ..clock import to_ms
from ..durability import Durability, Fsynced, Replicated
from ..names import Unit
from ..script import Script
from .request import Request

MARK: Final = Script.load("holdfast.core", "mark")

# By its whole source: there is no second try once the call before it has been made.
_MARKING: Final = "\n".join(line for line in MARK.source.splitlines() if not line.startswith("-- "))

_FOR_GOOD: Final = ("unknown command", "appendonly is disabled", "NOPERM")
"""What an error says that is there to stay; others pass, as while a server fails over."""


class DurabilityBarrier(msgspec.Struct, frozen=True):
    """The end of a batch of writes.

    Attributes:
        request: is answered when they are safe, or when no time is left.
        probe: is answered at once: with an error where the seal would be.
        timeout_s: how long the server may take over it.
        replicas: how many must have confirmed.
        on_disk: whether it is about disks, beginning with the server's own.
    """

    request: Request
    probe: Request
    timeout_s: float
    replicas: int
    on_disk: bool

    @classmethod
    def of(cls, durability: Durability) -> Self:
        """What makes writes as durable as that."""
        ms, replicas = to_ms(durability.timeout), durability.replicas
        match durability:
            case Replicated():
                whole, probe = Request.of("WAIT", replicas, ms), Request.of("WAIT", 0, 1)
            case Fsynced():
                whole = Request.of("WAITAOF", 1, replicas, ms)
                probe = Request.of("WAITAOF", 1, 0, 1)
        return cls(whole, probe, ms / 1000, replicas, isinstance(durability, Fsynced))

    def missing(self, reply: Any) -> str:
        """What the server says is missing; empty: nothing is."""
        here, confirmed = map(int, reply) if self.on_disk else (1, int(reply))
        within = f"within {self.timeout_s:g} s"
        if not here:
            return f"it was not on disk {within}"
        if confirmed < self.replicas:
            return f"{confirmed} of {self.replicas} replicas confirmed it {within}"
        return ""


def mark(unit: Unit) -> Request:
    """What goes between a call about *unit* and its seal."""
    return Request.of("EVAL", _MARKING, 1, unit.key("mark"))


def is_for_good(error: str) -> bool:
    """Whether a server that answers a probe with this *error* cannot seal anything."""
    return any(sign in error for sign in _FOR_GOOD)
