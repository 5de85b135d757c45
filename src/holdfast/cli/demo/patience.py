"""Steps that are made even if the queue's server is away for a while."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

from ... import OutcomeUnknown, ServerUnavailable

PATIENCE_S = 30.0  # with a server that does not answer
PAUSE_S = 0.125

T = TypeVar("T")


def insist(step: Callable[[], T], *, anew: bool = False) -> T:
    """Do *step* even if the queue's server is away for a while: a restart must not end the demo.

    Args:
        step: what is to be done.
        anew: it is several steps, which may be made again: so all of them are.

    Raises:
        ServerUnavailable, OutcomeUnknown: it was away for too long.
    """
    deadline_s = time.monotonic() + PATIENCE_S
    while True:
        try:
            return step()
        except (OutcomeUnknown, ServerUnavailable) as error:
            if time.monotonic() > deadline_s:
                raise
            if isinstance(error, OutcomeUnknown) and not anew:
                step = error.repeat
            time.sleep(PAUSE_S)
