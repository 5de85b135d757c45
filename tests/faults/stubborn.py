"""Repeat an operation until it succeeds, as documented: `insist`."""

import time
from collections.abc import Callable
from typing import Any

from faults.waiting import POLL_S
from holdfast import OutcomeUnknown, ServerUnavailable

STUBBORN_S = 60.0  # without a reply for so long, none will come


def insist(operation: Callable[[], Any]) -> Any:
    """Do *operation* exactly once, whatever the server does meanwhile."""
    deadline_s = time.monotonic() + STUBBORN_S
    while True:
        try:
            return operation()
        except OutcomeUnknown as error:
            operation = error.repeat
            problem: Exception = error
        except ServerUnavailable as error:
            problem = error
        if time.monotonic() > deadline_s:
            raise problem
        time.sleep(POLL_S)
