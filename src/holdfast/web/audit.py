"""The audit log: who did what, to what, and what came of it."""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable, Mapping
from typing import Any, Final

import msgspec

from ..errors.records import logger_of, one_line

NOBODY: Final = "-"
"""The name in a record of a request that proves no user."""

AGAIN_S: Final = 600.0
"""Seconds after which the same reader of the same page is recorded again."""

REMEMBERED: Final = 10_000

logger = logger_of("holdfast.audit")


def record(user: str, role: str, action: str, target: Mapping[str, Any], outcome: str) -> None:
    """Write one record on INFO, with the fields `user role action target outcome`.

    It is one line in the message and in each field, whatever a name holds.
    """
    fields = {
        "user": one_line(user),
        "role": role,
        "action": action,
        "target": one_line(dict(target)),
        "outcome": one_line(outcome),
    }
    told = msgspec.json.encode(fields["target"]).decode()
    logger.info("%s (%s) %s %s: %s", user, role, action, told, outcome, extra=fields)


class Reads:
    """Decides which reads are recorded: a page that renews itself is one read.

    Args:
        clock: seconds that never go back.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._recorded: OrderedDict[tuple[str, ...], float] = OrderedDict()

    def is_new(self, *what: str) -> bool:
        """Return whether *what* was not recorded lately, and remember it."""
        now = self._clock()
        if now - self._recorded.get(what, -AGAIN_S) < AGAIN_S:
            return False
        self._recorded[what] = now
        self._recorded.move_to_end(what)
        if len(self._recorded) > REMEMBERED:
            self._recorded.popitem(last=False)
        return True
