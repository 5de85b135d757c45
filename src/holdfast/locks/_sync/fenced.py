# Generated from _async/fenced.py by tools/unasync.py: edit that, then run `make sync`.
"""A value that refuses writers who were overtaken."""

from __future__ import annotations

from functools import partial
from typing import Any, Final

from ...core._sync.caller import Caller
from ...core.checks import checked_int
from ...core.codec import JSON, decoded, encoded
from ...core.names import Unit
from ...core.script import Script
from ...core.stored import stored_int
from ...errors import StaleFence
from .. import keys

SET: Final = Script.load("holdfast.locks", "set")

MAX_FENCE: Final = 2**53 - 1
"""What a script can compare exactly; as microseconds this is the year 2255."""


class Fenced:
    """A JSON value on the server, written under a fence.

    A holder that was paused for longer than its lease still believes in it, and may write when the
    next one has written already. The fence tells them apart.

    Made by `Holdfast.fenced`.
    """

    def __init__(self, caller: Caller, unit: Unit) -> None:
        self._caller = caller
        self._unit = unit

    def __repr__(self) -> str:
        return f"Fenced({self._unit.name!r})"

    def set(self, value: Any, fence: int, *, op_id: str | None = None) -> None:
        """Store *value*, unless one was stored under a later fence.

        Args:
            value: what JSON can say, 1 MiB at most.
            fence: `lease.fence` of the lock that guards it.
            op_id: see `OutcomeUnknown`.

        Raises:
            StaleFence: one was; nothing is changed.
        """
        fence = checked_int(fence, "fence", 1, MAX_FENCE)
        data = encoded(JSON, value, str(self._unit))
        again = partial(self.set, value, fence)
        later: bytes = self._caller.write(SET, self._unit, fence, data, op_id=op_id, repeat=again)
        if later:
            stored = stored_int(later, f"the fence in {keys.fenced(self._unit)}")
            raise StaleFence(str(self._unit), fence, stored)

    def get(self) -> Any:
        """What was stored last; None when nothing was."""
        data = self._caller.read(self._unit, "HGET", keys.fenced(self._unit), "value")
        return None if data is None else decoded(JSON, data, Any, str(self._unit))
