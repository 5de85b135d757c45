"""The names that somebody used lately."""

from __future__ import annotations

from functools import partial
from typing import Final

from ...core._async.caller import Argument, AsyncCaller
from ...core.names import Unit
from ...core.script import Script
from ...core.stored import stored_int, stored_text
from ...errors import DefinitionConflict
from .. import keys
from ..folding import checked, checked_name, folded
from ..limits import MAX_LIMIT, USUAL_LIMIT, checked_limit

TOUCH: Final = Script.load("holdfast.completions", "touch")
DROP: Final = Script.load("holdfast.completions", "drop")
REDEFINE: Final = Script.load("holdfast.completions", "redefine")


class AsyncRecent:
    """A short list of names, the latest used first.

    A name is known by its exact spelling; looked for it is folded, as for `AsyncCompletions`.

    Made by `AsyncHoldfast.recent`.
    """

    def __init__(self, caller: AsyncCaller, unit: Unit, limit: int | None) -> None:
        self._caller = caller
        self._unit = unit
        self._limit = limit

    def __repr__(self) -> str:
        return f"AsyncRecent({self._unit.name!r})"

    async def touch(self, name: str, *, op_id: str | None = None) -> None:
        """*name* was used: it comes first. What is beyond the limit is forgotten.

        Args:
            name: of 512 bytes at most, without NUL.
            op_id: see `OutcomeUnknown`.

        Raises:
            InvalidName: it cannot be kept.
            DefinitionConflict: another limit is stored.
        """
        checked_name(name)
        given: Argument = "" if self._limit is None else self._limit
        args = (name, given, USUAL_LIMIT, keys.KEPT_MS)
        again = partial(self.touch, name)
        stored: bytes = await self._caller.write(
            TOUCH, self._unit, *args, op_id=op_id, repeat=again
        )
        if stored:
            what = f"the limit of {self._unit}"
            number = stored_int(stored, keys.limit(self._unit), 1, MAX_LIMIT)
            raise DefinitionConflict(what, number, self._limit)

    async def remove(self, name: str, *, op_id: str | None = None) -> bool:
        """Forget *name*. False: it was not there."""
        checked_name(name)
        again = partial(self.remove, name)
        return bool(await self._caller.write(DROP, self._unit, name, op_id=op_id, repeat=again))

    async def all(self) -> list[str]:
        """All of them, the latest first."""
        names = await self._caller.read(
            self._unit, "LRANGE", keys.names(self._unit), 0, MAX_LIMIT - 1
        )
        what = f"a name in {keys.names(self._unit)}"
        return [stored_text(name, what) for name in names]

    async def match(self, prefix: str, *, limit: int | None = None) -> list[str]:
        """Those whose folded form begins with that of *prefix*, the latest first.

        Args:
            prefix: empty for all.
            limit: how many at most; None for all.
        """
        start = folded(checked(prefix, "a prefix"))
        checked_limit(limit)
        return [name for name in await self.all() if folded(name).startswith(start)][:limit]

    async def redefine(self, *, limit: int, op_id: str | None = None) -> None:
        """Change for everyone how many are kept.

        Args:
            limit: 1 to 1,000; what is beyond it is forgotten at once.
            op_id: see `OutcomeUnknown`.
        """
        if checked_limit(limit) is None:
            raise TypeError("limit must be an int")
        args, again = (limit, keys.KEPT_MS), partial(self.redefine, limit=limit)
        await self._caller.write(REDEFINE, self._unit, *args, op_id=op_id, repeat=again)
        self._limit = limit
