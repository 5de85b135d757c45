"""`holdfast locks wait` returns when nobody has it."""

from __future__ import annotations

import math
import time
from typing import Final

from ..connection import Embedded, Namespace, Url, connected, fail
from .codes import TIMED_OUT
from .options import Timeout
from .places import IsSemaphore, Name, Places, told

LOOK_S: Final = 0.5
"""Between two looks: two commands a second are what an idle waiter may cost the server."""


def wait(
    name: Name,
    url: Url = None,
    embedded: Embedded = None,
    namespace: Namespace = "holdfast",
    semaphore: IsSemaphore = False,
    timeout: Timeout = None,
) -> None:
    """Wait until a lock is free: nobody holds it, nobody waits for it.

    It takes nothing and stands in no line: it looks twice a second, may miss
    a short moment in which the lock is free, and someone else may take it at
    once. To do something alone, use `run`.

    The exit code is 0 if it is free, 124 if it was not within the timeout.
    """
    ends_at = time.monotonic() + (math.inf if timeout is None else timeout)
    with connected(url, embedded, namespace, create=False) as hf:
        while not (places := Places.now(hf, name, semaphore=semaphore)).free:
            left_s = ends_at - time.monotonic()
            if left_s <= 0:
                whose = "".join(f": {told(each.name)} holds it" for each in places.holders[:1])
                fail(f"{places} was not free within {timeout:g} s{whose}", code=TIMED_OUT)
            time.sleep(min(LOOK_S, left_s))
