"""Check the keys of idempotent calls for an audit."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from ..core.audit import Fault, Part, Snapshot
from .keys import CALL

KINDS = (CALL,)

_NAME: Final = "call"
_FIELDS: Final = frozenset((b"token", b"fingerprint", b"answer"))
_NEEDED: Final = frozenset((b"token", b"fingerprint"))


def part(_kind: str, name: str) -> Part | None:
    """Return the expected type of the key *name*; None if calls have no such key.

    An audit does not read the answers: they may be large, and only their owners know their form.
    """
    return Part("hash", reading="names") if name == _NAME else None


def others(_unit: Snapshot) -> Iterable[str]:
    """Return no further keys."""
    return ()


def wanted(_unit: Snapshot) -> Iterable[tuple[str, bytes]]:
    """Return no fields: no sizes are needed."""
    return ()


def faults(unit: Snapshot) -> Iterator[Fault]:
    """Yield what is wrong with the stored hash of an idempotent call."""
    if unit.has(_NAME):
        found = frozenset(unit.hash(_NAME))
        for field in sorted(_NEEDED - found):
            yield Fault(_NAME, f"it has no {field.decode()}")
        for field in sorted(found - _FIELDS):
            yield Fault(_NAME, f"{field.decode(errors='backslashreplace')!r} is no field of a call")
