"""What an audit has found."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class Damage:
    """Something in a namespace that does not fit.

    Attributes:
        level: `error`: a promise is broken, or will be; `warning`: a key that is none of ours.
        kind: of the unit, as `queue`; empty for a key that is none of ours.
        name: of the unit.
        key: where it was found.
        what: in a sentence.
    """

    level: Literal["error", "warning"]
    kind: str
    name: str
    key: str
    what: str


@dataclass(frozen=True, slots=True)
class AuditReport:
    """How a namespace is.

    Attributes:
        keys: how many were looked at.
        units: how many locks, queues, chats … these are; a row cache has several.
        damages: what does not fit, by unit; at most 1,000.
        complete: whether there are no more damages than these.
    """

    keys: int
    units: int
    damages: tuple[Damage, ...]
    complete: bool = True
