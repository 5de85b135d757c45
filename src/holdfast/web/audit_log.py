"""Write the audit log: each record has a user, an action, its target and its outcome."""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable, Mapping
from typing import Any, Final

import msgspec

from ..errors.one_line_logger import logger_of, one_line

ANONYMOUS: Final = "-"
"""The user name in the records of requests without a valid token."""

REPEAT_AFTER_S: Final = 600.0
"""Seconds after which the audit log records the same read of the same user again."""

MAX_READS: Final = 10_000
"""Reads that `RecentReads` remembers. It drops the one that was recorded longest ago first."""

logger: Final = logger_of("holdfast.audit")


def record(user: str, role: str, action: str, target: Mapping[str, Any], outcome: str) -> None:
    """Write one record at level INFO, with the fields `user role action target outcome`.

    The message and each field are one line each, because line breaks in names are escaped.
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
    """Decides which reads to record, so that a page that updates itself counts as one read.

    Args:
        clock: returns monotonic seconds.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._recorded: OrderedDict[tuple[str, ...], float] = OrderedDict()

    def is_new(self, *read: str) -> bool:
        """Return whether to record *read*, and remember it in that case."""
        now = self._clock()
        if now - self._recorded.get(read, -REPEAT_AFTER_S) < REPEAT_AFTER_S:
            return False
        self._recorded[read] = now
        self._recorded.move_to_end(read)
        if len(self._recorded) > MAX_READS:
            self._recorded.popitem(last=False)
        return True
