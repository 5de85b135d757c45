# Generated from _async/recent.py by tools/unasync.py: edit that, then run `make sync`.
"""Provide lists of recently used names."""

from __future__ import annotations

from functools import partial
from typing import Final

from ...core._sync.caller import Caller
from ...core.definitions import OnConflict, checked_on_conflict, given_option, log_kept
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

    Different spellings are different names. `match` folds names as `Completions` does.

    Made by `Holdfast.recent`.
    """

    def __init__(
        self, caller: Caller, unit: Unit, limit: int | None, on_conflict: OnConflict
    ) -> None:
        self._caller = caller
        self._unit = unit
        self._limit = limit
        self._on_conflict = checked_on_conflict(on_conflict)

    def __repr__(self) -> str:
        return f"Recent({self._unit.name!r})"

    def touch(self, name: str, *, op_id: str | None = None) -> None:
        """Move *name* to the front of the list, or add it there. Remove names beyond the limit.

        Args:
            name: the name, at most 512 bytes without NUL.
            op_id: see `OutcomeUnknown`.

        Raises:
            InvalidName: The name cannot be stored.
            DefinitionConflict: The server stores another limit, and `on_conflict` is `error`.
        """
        name = checked_name(name)
        given = given_option(self._limit, self._on_conflict)
        args = (name, given, DEFAULT_LIMIT, keys.KEPT_MS)
        repeat = partial(self.touch, name)
        reply: bytes = self._caller.write(TOUCH, self._unit, *args, op_id=op_id, repeat=repeat)
        verdict, _, stored = reply.partition(b" ")
        if verdict:
            what = f"the limit of {self._unit}"
            number = stored_int(stored, keys.limit(self._unit), 1, MAX_LIMIT)
            if verdict == b"conflict":
                raise DefinitionConflict(what, number, self._limit)
            log_kept(what, number, self._limit)

    def remove(self, name: str, *, op_id: str | None = None) -> bool:
        """Remove *name*. Return False if it was not in the list."""
        name = checked_name(name)
        repeat = partial(self.remove, name)
        return bool(self._caller.write(DROP, self._unit, name, op_id=op_id, repeat=repeat))

    def all(self) -> list[str]:
        """Return all names, the most recently used first."""
        names = self._caller.read(self._unit, "LRANGE", keys.names(self._unit), 0, MAX_LIMIT - 1)
        what = f"a name in {keys.names(self._unit)}"
        return [stored_text(name, what) for name in names]

    def match(self, prefix: str, *, limit: int | None = None) -> list[str]:
        """Return the names that begin with *prefix*, the latest first. Compare folded texts.

        Args:
            prefix: the beginning. Empty: return all names.
            limit: largest number of names to return; None: no limit.
        """
        start = folded(checked_text(prefix, "a prefix"))
        checked_limit(limit)
        return [name for name in self.all() if folded(name).startswith(start)][:limit]

    def redefine(self, *, limit: int, op_id: str | None = None) -> None:
        """Change the limit of the list for all clients.

        Args:
            limit: number of names to keep, 1 to 1,000. Names beyond it are removed at once.
            op_id: see `OutcomeUnknown`.
        """
        if checked_limit(limit) is None:
            raise TypeError("limit must be an int")
        args, repeat = (limit, keys.KEPT_MS), partial(self.redefine, limit=limit)
        self._caller.write(REDEFINE, self._unit, *args, op_id=op_id, repeat=repeat)
        if self._limit is not None:
            self._limit = limit
