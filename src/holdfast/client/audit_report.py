"""`AuditReport` and `Damage`: what an audit found."""

from __future__ import annotations

from dataclasses import dataclass

from .finding import Severity


@dataclass(frozen=True, slots=True)
class Damage:
    """Data in a namespace that contradict what their block promises.

    Attributes:
        level: `error`: a promise is broken, or will be; `warning`: an unknown key.
        kind: of the unit, such as `queue`; empty for an unknown key.
        name: of the unit.
        key: the key that holds the data.
        what: what is wrong, in a sentence.
    """

    level: Severity
    kind: str
    name: str
    key: str
    what: str


@dataclass(frozen=True, slots=True)
class AuditReport:
    """The result of an audit.

    Attributes:
        keys: how many keys were checked.
        units: how many locks, queues, chats … they belong to; a row cache has several units.
        damages: what is wrong, by unit; at most 1,000.
        complete: whether *damages* lists all of them.
    """

    keys: int
    units: int
    damages: tuple[Damage, ...]
    complete: bool = True
