"""Call one cached function in all threads, or tasks, of a process. Arguments: URL NS PROCESSES HOW.

It waits until all processes are ready, and prints how often it called the function, and what its
callers got.
"""

import asyncio
import json
import os
import signal
import sys
import threading
import time
from collections import Counter
from typing import Any

from holdfast import AsyncHoldfast, CacheLoadFailed, CacheTimeout, Holdfast

CALLERS = 50

url, namespace, processes, how = sys.argv[1:]
calls: list[int] = []


def began(hf: Holdfast) -> None:
    """Count a call of the function, where the test sees it even if this process is killed."""
    calls.append(1)
    hf.counter("calls").add()
    if how == "killed" and hf.counter("killed").total(3600) == 0:
        hf.counter("killed").add()
        os.kill(os.getpid(), signal.SIGKILL)


def ended(hf: Holdfast) -> str:
    if how == "failing":
        raise LookupError("no such thing")
    return "value"


def outcome(error: Exception | None, value: Any = None) -> str:
    match error:
        case None:
            return str(value)
        case CacheLoadFailed():
            return error.reason
        case CacheTimeout():
            return "timeout"
        case _:
            return f"{type(error).__name__}: {error}"


def ready(hf: Holdfast) -> None:
    hf.counter("ready").add()
    while hf.counter("ready").total(3600) < int(processes):
        time.sleep(0.02)


def in_threads() -> Counter[str]:
    got: list[str] = []
    with Holdfast.from_url(url, namespace=namespace) as hf:

        @hf.cached(ttl=60.0, lease=3.0, timeout=2.0 if how == "hanging" else 40.0, name="crowd")
        def function() -> str:
            began(hf)
            time.sleep(8.0 if how == "hanging" else 0.7)
            return ended(hf)

        def call() -> None:
            try:
                got.append(outcome(None, function()))
            except Exception as error:  # noqa: BLE001 (reported)
                got.append(outcome(error))

        ready(hf)
        threads = [threading.Thread(target=call) for _ in range(CALLERS)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    return Counter(got)


async def in_tasks() -> Counter[str]:
    with Holdfast.from_url(url, namespace=namespace) as hf:
        async with AsyncHoldfast.from_url(url, namespace=namespace) as async_hf:

            @async_hf.cached(
                ttl=60.0, lease=3.0, timeout=2.0 if how == "hanging" else 40.0, name="crowd"
            )
            async def function() -> str:
                began(hf)
                await asyncio.sleep(8.0 if how == "hanging" else 0.7)
                return ended(hf)

            async def call() -> str:
                try:
                    return outcome(None, await function())
                except Exception as error:  # noqa: BLE001 (reported)
                    return outcome(error)

            ready(hf)
            return Counter(await asyncio.gather(*(call() for _ in range(CALLERS))))


if __name__ == "__main__":
    found = asyncio.run(in_tasks()) if os.getpid() % 2 else in_threads()
    print(json.dumps([len(calls), found]), flush=True)
