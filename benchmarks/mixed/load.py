"""Requests at a steady rate, whatever the service does, and how long each kind takes.

A wait counts from the moment when the request was due, so a service that falls behind shows it.
"""

from __future__ import annotations

import sys
import time
from collections import defaultdict
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final

from ..orders import obey_orders

KINDS: Final = ("lock", "cache", "counter", "enqueue", "inbox")
THREADS: Final = 16

SEATS: Final = 50
PROFILES: Final = 100
USERS: Final = 20
TTL_S: Final = 1.0
"""So that some reads of the cache load again."""

Service = Mapping[str, Callable[[int], object]]
"""Kind of request → what answers request number so-and-so."""


def serve(service: Service, count: int, rate: float) -> dict[str, Any]:
    """Answer *count* requests; return the waits in ms, the failures and the processor time."""
    waits_ms: dict[str, list[float]] = defaultdict(list)
    failed: dict[str, int] = dict.fromkeys(KINDS, 0)

    def answer(number: int, due_s: float) -> None:
        kind = KINDS[number % len(KINDS)]
        try:
            service[kind](number // len(KINDS))
        except Exception as error:  # noqa: BLE001 (a service goes on)
            failed[kind] += 1
            print(f"{kind}: {error!r}", file=sys.stderr)
        waits_ms[kind].append((time.monotonic() - due_s) * 1000)

    cpu_s, begin_s = time.process_time(), time.monotonic()
    with ThreadPoolExecutor(THREADS) as pool:
        for number in range(count):
            due_s = begin_s + number / rate
            time.sleep(max(0.0, due_s - time.monotonic()))
            pool.submit(answer, number, due_s)
    return {"waits_ms": waits_ms, "failed": failed, "cpu_s": time.process_time() - cpu_s}


def take_part(make: Callable[[str], Service], work: Callable[[str], object]) -> None:
    """Run the process that the command line describes: `serve URL` or `work URL`."""
    role, url = sys.argv[1:]
    if role == "work":
        work(url)
        return
    service = make(url)

    def obey(verb: str, count: int, rate: float) -> dict[str, Any]:
        assert verb == "serve"
        return serve(service, count, rate)

    obey_orders(obey)
