"""Provide the fenced value: a JSON value that refuses writes with an older fence."""

from __future__ import annotations

from functools import partial
from typing import Any, Final

from ...core._async.caller import AsyncCaller
from ...core.checks import checked_int
from ...core.codec import JSON, decoded, encoded
from ...core.names import Unit
from ...core.script import Script
from ...core.stored import stored_int
from ...errors import StaleFence
from .. import keys

SET: Final = Script.load("holdfast.locks", "set")

MAX_FENCE: Final = 2**53 - 1
"""Largest fence: the largest number that Lua compares exactly. As microseconds: the year 2255."""


class AsyncFenced:
    """A JSON value on the server that is written with the fence of a lock.

    A holder that was paused for longer than its lease does not know that it has lost the lock, and
    may write after the next holder has written. The value refuses that write, because its fence is
    older.

    Made by `AsyncHoldfast.fenced`.
    """

    def __init__(self, caller: AsyncCaller, unit: Unit) -> None:
        self._caller = caller
        self._unit = unit

    def __repr__(self) -> str:
        return f"AsyncFenced({self._unit.name!r})"

    async def set(self, value: Any, fence: int, *, op_id: str | None = None) -> None:
        """Store *value*, unless a value with a later fence is stored.

        Args:
            value: any value that JSON can represent, at most 1 MiB.
            fence: `lease.fence` of the lock that guards the value.
            op_id: see `OutcomeUnknown`.

        Raises:
            StaleFence: A value with a later fence is stored. Nothing was changed.
        """
        fence = checked_int(fence, "fence", 1, MAX_FENCE)
        data = encoded(JSON, value, str(self._unit))
        repeat = partial(self.set, value, fence)
        later: bytes = await self._caller.write(
            SET, self._unit, fence, data, op_id=op_id, repeat=repeat
        )
        if later:
            stored = stored_int(later, f"the fence in {keys.fenced(self._unit)}")
            raise StaleFence(str(self._unit), fence, stored)

    async def get(self) -> Any:
        """Return the stored value; None if nothing was stored."""
        data = await self._caller.read(self._unit, "HGET", keys.fenced(self._unit), "value")
        return None if data is None else decoded(JSON, data, Any, str(self._unit))
