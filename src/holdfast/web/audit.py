"""The audit log: who did what, to what, and what came of it."""

from __future__ import annotations

import logging
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping
from typing import Any, Final

import msgspec

NOBODY: Final = "-"
"""The name in a record of a request that proves no user."""

AGAIN_S: Final = 600.0
"""Seconds after which the same reader of the same page is recorded again."""

REMEMBERED: Final = 10_000

logger = logging.getLogger("holdfast.audit")


def record(user: str, role: str, action: str, target: Mapping[str, Any], outcome: str) -> None:
    """Write one record of one line: on INFO, with the fields `user role action target outcome`."""
    logger.info(
        "%s (%s) %s %s: %s",
        one_line(user),
        role,
        action,
        one_line(msgspec.json.encode(target).decode()),
        one_line(outcome),
        extra={
            "user": user,
            "role": role,
            "action": action,
            "target": dict(target),
            "outcome": outcome,
        },
    )


def one_line(text: str) -> str:
    """Return *text* with everything escaped that is not printable: no name can begin a line."""
    return "".join(
        char if char.isprintable() else char.encode("unicode_escape").decode() for char in text
    )


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
