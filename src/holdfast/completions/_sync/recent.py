# Generated from _async/recent.py by tools/unasync.py: edit that, then run `make sync`.
"""The list of recent names that users see."""

from __future__ import annotations

from functools import partial
from typing import Final

from ...core._sync.caller import Argument, Caller
from ...core.names import Unit
from ...core.script import Script
from ...core.stored import stored_int, stored_text
from ...errors import DefinitionConflict
from .. import keys
from ..checks import DEFAULT_LIMIT, MAX_LIMIT, checked_limit, checked_name, checked_text
from ..folding import folded

TOUCH: Final = Script.load("holdfast.completions", "touch")
DROP: Final = Script.load("holdfast.completions", "drop")
REDEFINE: Final = Script.load("holdfast.completions", "redefine")


class Recent:
    """A short list of names, the most recently used first.

    Spellings that differ are different names. `match` ignores case and accents, as
    `Completions` does.

    Made by `Holdfast.recent`.
    """

    def __init__(self, caller: Caller, unit: Unit, limit: int | None) -> None:
        self._caller = caller
        self._unit = unit
        self._limit = limit

    def __repr__(self) -> str:
        return f"Recent({self._unit.name!r})"

    def touch(self, name: str, *, op_id: str | None = None) -> None:
        """Move *name* to the front of the list, or add it; remove names beyond the limit.

        Args:
            name: 512 bytes at most, without NUL.
            op_id: see `OutcomeUnknown`.

        Raises:
            InvalidName: The name cannot be stored.
            DefinitionConflict: The server keeps another limit.
        """
        checked_name(name)
        given: Argument = "" if self._limit is None else self._limit
        args = (name, given, DEFAULT_LIMIT, keys.KEPT_MS)
        repeat = partial(self.touch, name)
        stored: bytes = self._caller.write(TOUCH, self._unit, *args, op_id=op_id, repeat=repeat)
        if stored:
            what = f"the limit of {self._unit}"
            number = stored_int(stored, keys.limit(self._unit), 1, MAX_LIMIT)
            raise DefinitionConflict(what, number, self._limit)

    def remove(self, name: str, *, op_id: str | None = None) -> bool:
        """Remove *name*; return False if it was not in the list."""
        checked_name(name)
        repeat = partial(self.remove, name)
        return bool(self._caller.write(DROP, self._unit, name, op_id=op_id, repeat=repeat))

    def all(self) -> list[str]:
        """Return all names, the latest first."""
        names = self._caller.read(self._unit, "LRANGE", keys.names(self._unit), 0, MAX_LIMIT - 1)
        what = f"a name in {keys.names(self._unit)}"
        return [stored_text(name, what) for name in names]

    def match(self, prefix: str, *, limit: int | None = None) -> list[str]:
        """Return the names that begin with *prefix*, folded, the latest first.

        Args:
            prefix: empty for all names.
            limit: how many at most; None for all.
        """
        start = folded(checked_text(prefix, "a prefix"))
        checked_limit(limit)
        return [name for name in self.all() if folded(name).startswith(start)][:limit]

    def redefine(self, *, limit: int, op_id: str | None = None) -> None:
        """Change how many names are kept, for all clients.

        Args:
            limit: 1 to 1,000; names beyond it are removed at once.
            op_id: see `OutcomeUnknown`.
        """
        if checked_limit(limit) is None:
            raise TypeError("limit must be an int")
        args, repeat = (limit, keys.KEPT_MS), partial(self.redefine, limit=limit)
        self._caller.write(REDEFINE, self._unit, *args, op_id=op_id, repeat=repeat)
        self._limit = limit
