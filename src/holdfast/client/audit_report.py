"""Define the result of an audit."""

from __future__ import annotations

from dataclasses import dataclass

from .finding import Severity


@dataclass(frozen=True, slots=True)
class Damage:
    """Describe damaged data in a namespace.

    Attributes:
        level: `error`: the data break a promise of the library, or will do so; `warning`: the key
            is unknown.
        kind: kind of the unit, such as `queue`; empty for an unknown key.
        name: name of the unit; empty for an unknown key.
        key: the key with the data.
        what: what is wrong, as a sentence.
    """

    level: Severity
    kind: str
    name: str
    key: str
    what: str


@dataclass(frozen=True, slots=True)
class AuditReport:
    """Hold the result of an audit.

    Attributes:
        keys: number of keys that were checked.
        units: number of units (locks, queues, chats and so on; a row cache has several units).
        damages: the damages, sorted by unit; at most 1,000.
        complete: whether *damages* contains all damages.
        layout: version of the layout that the namespace stores; None: it stores none.
    """

    keys: int
    units: int
    damages: tuple[Damage, ...]
    complete: bool = True
    layout: int | None = None
