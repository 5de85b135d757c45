"""Retries while the server is away: a restart of the server must not end a demo."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Final, TypeVar

from holdfast import OutcomeUnknown, ServerUnavailable

LONGEST_S: Final = 30.0
PAUSE_S: Final = 0.125

T = TypeVar("T")


def retried(step: Callable[[], T], *, whole: bool = False) -> T:
    """Call *step* until the server answers.

    Args:
        step: what is to be done.
        whole: it consists of several calls, all of which may be repeated; otherwise a call without
            an answer is repeated by its own `OutcomeUnknown.repeat`.

    Raises:
        ServerUnavailable, OutcomeUnknown: the server was away for too long.
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
