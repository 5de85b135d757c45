"""`holdfast locks wait`: wait until a lock is free."""

from __future__ import annotations

import math
import time
from typing import TYPE_CHECKING, Annotated, Final

import typer

from ...inspect.permits import process_name
from ..connection import fail, with_client
from ..exit_codes import TIMED_OUT
from ..options import option
from .show import LOCKS, SEMAPHORES, IsSemaphore, Name

if TYPE_CHECKING:
    from ... import Holdfast

POLL_S: Final = 0.5
"""Seconds between two checks. Each check costs the server one command."""


def finite(value: float | None) -> float | None:
    """Return *value*. End the command if it is infinite or not a number."""
    if value is not None and not math.isfinite(value):
        raise typer.BadParameter(f"{value} is no number of seconds")
    return value


Timeout = Annotated[
    float | None,
    option(
        "SECONDS",
        "How long to wait; 0 does not wait. The default is no limit.",
        min=0.0,
        callback=finite,
    ),
]


@with_client()
def wait(hf: Holdfast, name: Name, semaphore: IsSemaphore = False, timeout: Timeout = None) -> None:
    """Wait until a lock is free: neither held nor waited for.

    It acquires nothing and is not in the wait queue. It checks twice a second, so it
    may miss a short moment in which the lock is free, and another process may take the
    lock at once. To do something exclusively, use `run`.

    The exit code is 0 if it is free, 124 if it was not within the timeout.
    """
    ends_at = time.monotonic() + (math.inf if timeout is None else timeout)
    kind = SEMAPHORES if semaphore else LOCKS
    while not (permits := kind.find(hf, name)).free:
        left_s = ends_at - time.monotonic()
        if left_s <= 0:
            holder = "".join(f": {process_name(h.name)} holds it" for h in permits.holders[:1])
            fail(f"{permits} was not free within {timeout:g} s{holder}", code=TIMED_OUT)
        time.sleep(min(POLL_S, left_s))
