"""Records when the server of a queue last answered a worker."""

from __future__ import annotations

import time
from typing import Final

from ...core._async.caller import AsyncCaller
from ...core.names import Unit
from ...errors import DecodeError, HoldfastError
from .. import keys
from .outages import Outages

CONTACT_S: Final = 10.0
"""Seconds without an answer after which a worker without a free slot sends a call."""


class ServerContact:
    """Records which calls about one queue are answered, and reports those that are not.

    Args:
        caller: asks the server.
        unit: the queue.
        outages: logs the calls that are not answered.

    Attributes:
        answered_at: when the server last answered, in seconds of the monotonic clock; before its
            first answer, when this object was made.
    """

    def __init__(self, caller: AsyncCaller, unit: Unit, outages: Outages) -> None:
        self.answered_at: float = time.monotonic()
        self._repeating = 0  # calls that are repeated until they are answered
        self._caller = caller
        self._unit = unit
        self._key = keys.leases(unit)
        self._outages = outages

    def answered(self, *, repeated: bool = False) -> None:
        """Record that a call was answered. The outage ends when no call is repeated any more.

        Args:
            repeated: whether this call had failed before, and was repeated.
        """
        self.answered_at = time.monotonic()
        self._repeating -= repeated
        if not self._repeating:
            self._outages.answered(self._unit)

    def failed(self, error: Exception, *, first: bool = False) -> None:
        """Record that a call failed with *error*.

        Args:
            error: why the call failed.
            first: whether this was the first failure of a call that is repeated until answered.
        """
        self._repeating += first
        is_damage = isinstance(error, DecodeError)
        self._outages.failed(self._unit, str(getattr(error, "reason", error)), alone=is_damage)

    def gave_up(self, *, repeated: bool) -> None:
        """Record that a call is not repeated any more.

        Args:
            repeated: whether the call was repeated before.
        """
        self._repeating -= repeated

    async def keep(self) -> None:
        """Ask the server whether it answers, if nothing else has asked it for a while.

        A worker without a free slot claims nothing, and would not notice an outage.
        """
        if time.monotonic() - self.answered_at < CONTACT_S:
            return
        try:
            await self._caller.read(self._unit, "EXISTS", self._key)
        except HoldfastError as error:
            self.failed(error)
        else:
            self.answered()
