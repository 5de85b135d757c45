"""Repeat calls while the server is unavailable, so that a restart of the server ends no demo."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Final, TypeVar

from holdfast import OutcomeUnknown, ServerUnavailable

LONGEST_S: Final = 30.0
PAUSE_S: Final = 0.125

T = TypeVar("T")


def retried(step: Callable[[], T], *, whole: bool = False) -> T:
    """Call *step* until the server replies, and return the result.

    Args:
        step: makes one or several calls to the server.
        whole: whether *step* may be repeated as a whole after `OutcomeUnknown`. If False, its only
            call is repeated with `OutcomeUnknown.repeat`.

    Raises:
        ServerUnavailable, OutcomeUnknown: the server was unavailable for too long.
    """
    deadline_s = time.monotonic() + LONGEST_S
    while True:
        try:
            return step()
        except (OutcomeUnknown, ServerUnavailable) as error:
            if time.monotonic() > deadline_s:
                raise
            if isinstance(error, OutcomeUnknown) and not whole:
                step = error.repeat
            time.sleep(PAUSE_S)
