"""A guard at the market: notes each change with the fences under which it was made.

The note is made in the step that makes the change, so the notes are in the order of the changes.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Iterator, Mapping
from types import ModuleType
from typing import Any, Final

LOOKS_S: Final = 0.05
"""How long the guard looks at what is to be changed; who must not come in then, could."""

Fences = Mapping[str, int]
"""By the name of a lock, the fence under which something was changed."""


def witnessed(example: ModuleType) -> Any:
    """The market with a lock for each item and purse, and a guard."""

    class WitnessedMarket(example.ItemLockedMarket):  # type: ignore[misc, name-defined]
        def _change(self, fences: dict[str, int], commands: Any) -> None:
            time.sleep(LOOKS_S)
            note = json.dumps(fences)
            super()._change(fences, [*commands, ("RPUSH", notes_key(self.prefix), note)])

    return WitnessedMarket


def notes_key(prefix: str) -> str:
    """The key of what the guard has noted: a LIST."""
    return f"{prefix}:notes"


def read_notes(market: Any) -> list[Fences]:
    """What the guard has noted, the oldest first."""
    return [json.loads(note) for note in market.redis.lrange(notes_key(market.prefix), 0, -1)]


def fallen(notes: Iterable[Fences]) -> Iterator[str]:
    """Fences that are not higher than those of the same lock before, in sentences."""
    latest: dict[str, int] = {}
    for note in notes:
        for name, fence in note.items():
            before = latest.get(name)
            if before is not None and fence <= before:
                yield f"the lock {name!r} had fence {fence} after {before}"
            latest[name] = fence
