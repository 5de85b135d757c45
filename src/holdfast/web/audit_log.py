"""The audit log: the user, the action, its target and its outcome."""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable, Mapping
from typing import Any, Final

import msgspec

from ..errors.records import logger_of, one_line

ANONYMOUS: Final = "-"
"""The user in the record of a request without a valid token."""

REPEAT_AFTER_S: Final = 600.0
"""Seconds after which another read of the same page by the same user is recorded."""

MAX_READS: Final = 10_000

logger = logger_of("holdfast.audit")


def record(user: str, role: str, action: str, target: Mapping[str, Any], outcome: str) -> None:
    """Write one record at level INFO, with the fields `user role action target outcome`.

    The message and each field are one line, whatever a name contains.
    """
    fields = {
        "user": one_line(user),
        "role": role,
        "action": action,
        "target": one_line(dict(target)),
        "outcome": one_line(outcome),
    }
    shown = msgspec.json.encode(fields["target"]).decode()
    logger.info("%s (%s) %s %s: %s", user, role, action, shown, outcome, extra=fields)


class RecentReads:
    """Decides which reads are recorded: a page that updates itself is one read.

    Args:
        clock: returns monotonic seconds.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._recorded: OrderedDict[tuple[str, ...], float] = OrderedDict()

    def is_new(self, *what: str) -> bool:
        """Return whether *what* was not recorded recently, and remember it."""
        now = self._clock()
        if now - self._recorded.get(what, -REPEAT_AFTER_S) < REPEAT_AFTER_S:
            return False
        self._recorded[what] = now
        self._recorded.move_to_end(what)
        if len(self._recorded) > MAX_READS:
            self._recorded.popitem(last=False)
        return True
