"""Name what a reader of messages or events will not get."""

from __future__ import annotations

from typing import Literal

import msgspec


class Gap(msgspec.Struct, frozen=True):
    """Name a range of messages, or of events of a task, that this reader will not get.

    Attributes:
        first: number of the first missing message or event.
        last: number of the last missing message or event.
        reason: `dropped`: the mailbox, chat or task dropped them because of its limits. `reset`:
            the server lost them, perhaps also earlier ones, and reuses their numbers.
    """

    first: int
    last: int
    reason: Literal["dropped", "reset"]

    @property
    def resume_after(self) -> int:
        """Return the number after which the reader continues.

        After a reset it is that of an earlier message or event, because the numbers are reused.
        """
        return self.last if self.reason == "dropped" else self.first - 1
