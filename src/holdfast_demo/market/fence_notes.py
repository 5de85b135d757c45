"""Record the fences under which each change of a market was made, to check that fences rise.

The note of a change is written in the same transaction as the change. So the notes are in the order
of the changes.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Iterator, Mapping
from types import ModuleType
from typing import Any, Final

from ..demo import Invariant

LOOKS_S: Final = 0.05
"""Seconds between decision and change, in which an error would let a second holder act."""

Fences = Mapping[str, int]
"""Name of a lock → the fence under which a change was made."""


def noting_market(module: ModuleType) -> Any:
    """Return the class of a market that has a lock for each item and purse, and writes notes."""

    class NotingMarket(module.ItemLockedMarket):  # type: ignore[misc, name-defined]
        def _change(self, fences: dict[str, int], commands: Any) -> None:
            time.sleep(LOOKS_S)
            note = json.dumps(fences)
            super()._change(fences, [*commands, ("RPUSH", notes_key(self.prefix), note)])

    return NotingMarket


def notes_key(prefix: str) -> str:
    """Return the key of the notes: a LIST."""
    return f"{prefix}:notes"


def read_notes(market: Any) -> list[Fences]:
    """Return the notes, the oldest first."""
    return [json.loads(note) for note in market.redis.lrange(notes_key(market.prefix), 0, -1)]


def fences_rise(notes: Iterable[Fences]) -> Invariant:
    """Check that each change was made under a higher fence of a lock than the previous change."""
    notes = list(notes)
    return Invariant(
        "locks", "fences only rise", sum(map(len, notes)), "fences", (*_fallen(notes),)
    )


def _fallen(notes: Iterable[Fences]) -> Iterator[str]:
    latest: dict[str, int] = {}
    for note in notes:
        for name, fence in note.items():
            before = latest.get(name)
            if before is not None and fence <= before:
                yield f"the lock {name!r} had fence {fence} after {before}"
            latest[name] = fence
