"""Holders in one process that record what they do: `python -m locks.faults.holder OPTIONS`.

OPTIONS is the JSON of `HolderOptions`. Until the file `stop` appears, the holders repeat: take the
lock or a permit of the semaphore, write under the fence, release.
"""

import asyncio
import json
import random
import sys
import threading
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import msgspec

from faults.access import opened
from faults.halves import Interrupted
from faults.history import Pending, Recorder
from faults.interrupts import struck
from holdfast import (
    AsyncHoldfast,
    AsyncLease,
    Holdfast,
    HoldfastError,
    Lease,
    LeaseLost,
    LockTimeout,
    ServerUnavailable,
    StaleFence,
)
from locks.faults import naive_locks, singletons
from locks.faults.singletons import KEY, naps

WRITERS = 0.3
"""This share of the acquisitions of a reader-writer lock is to write."""


class HolderOptions(msgspec.Struct, kw_only=True):
    """What the holders of one process do.

    Attributes:
        kind: `lock`, `rw_lock`, `semaphore`, `singleton`, `naive lock` or `naive semaphore`.
        half: `sync` or `async`.
        limit: permits of the semaphore.
        hold_s: how long each hold lasts.
        once: end after one hold.
        access: see `opened`.
        alarm_s: see `struck`; with it, one holder of the blocking half runs in the main thread.
        storm_s: every second hold of the asyncio half is cancelled within this time; 0: none.
        clock_off_s: by how much the wall clock of this process is wrong.
    """

    url: str
    namespace: str
    folder: str
    name: str
    kind: str = "lock"
    half: str = "sync"
    holders: int = 2
    limit: int = 1
    lease: float = 1.0
    timeout: float = 5.0
    hold_s: float = 0.005
    once: bool = False
    access: str = ""
    alarm_s: float = 0.0
    storm_s: float = 0.0
    clock_off_s: float = 0.0

    def patience_s(self) -> float | None:
        """Return the time after which to cancel the next hold; None: never."""
        return random.uniform(0, self.storm_s) if random.random() < 0.5 and self.storm_s else None

    @property
    def stopped(self) -> Callable[[], bool]:
        """Return a function that returns whether to stop."""
        return (Path(self.folder) / "stop").exists


class HolderLog:
    """Records the operations of one holder."""

    def __init__(self, recorder: Recorder, holder: str) -> None:
        self._recorder = recorder
        self.holder = holder

    def acquiring(self) -> AbstractContextManager[Pending]:
        return self._recorder.operation("acquire", key=KEY, holder=self.holder)

    def granted(self, op: Pending, lease: Lease | AsyncLease, *, shared: bool = False) -> None:
        op.result = lease.fence
        op.note(until_ns=until_ns(lease), **({"shared": True} if shared else {}))

    def still_held(self, lease: Lease | AsyncLease) -> bool:
        """Record that its lease is alive, or that it was lost; return which."""
        if lease.lost:
            with self._recorder.operation("lost", key=KEY, holder=self.holder):
                return False
        with self._recorder.operation("renew", key=KEY, holder=self.holder) as op:
            op.result = True
            op.note(until_ns=until_ns(lease))
        return True

    def writing(self, fence: int) -> AbstractContextManager[Pending]:
        return self._recorder.operation("write", key=KEY, holder=self.holder, fence=fence)

    def releasing(self) -> AbstractContextManager[Pending]:
        return self._recorder.operation("release", key=KEY, holder=self.holder)


def until_ns(lease: Lease | AsyncLease) -> int:
    """Return when the lease ends for its holder."""
    return time.monotonic_ns() + round(lease.remaining * 1e9)


def chosen(hf: Any, options: HolderOptions) -> tuple[Callable[..., Any], bool, bool]:
    """Return how to take it, whether others may then have it too, and whether to write."""
    if options.kind == "semaphore":
        return hf.semaphore(KEY, limit=options.limit, lease=options.lease).acquire, False, False
    if options.kind == "lock":
        return hf.lock(KEY, lease=options.lease).acquire, False, True
    lock = hf.rw_lock(KEY, lease=options.lease)
    writes = random.random() < WRITERS
    return lock.acquire_write if writes else lock.acquire_read, not writes, writes


def blocking(hf: Holdfast, options: HolderOptions, log: HolderLog) -> None:
    """Take, use and release it once."""
    acquire, shared, writes = chosen(hf, options)
    with log.acquiring() as op:
        lease = struck(lambda: acquire(timeout=options.timeout), options.alarm_s)
        log.granted(op, lease, shared=shared)
    try:
        for nap_s in naps(options):
            if not log.still_held(lease):
                break
            time.sleep(nap_s)
            if writes:
                with log.writing(lease.fence) as op:
                    op.result = True
                    hf.fenced(KEY).set(log.holder, lease.fence)
    finally:
        with log.releasing():
            struck(lease.release, options.alarm_s)


async def asynchronous(hf: AsyncHoldfast, options: HolderOptions, log: HolderLog) -> None:
    """Take, use and release it once."""
    acquire, shared, writes = chosen(hf, options)
    with log.acquiring() as op:
        lease = await acquire(timeout=options.timeout)
        log.granted(op, lease, shared=shared)
    try:
        for nap_s in naps(options):
            if not log.still_held(lease):
                break
            await asyncio.sleep(nap_s)
            if writes:
                with log.writing(lease.fence) as op:
                    op.result = True
                    await hf.fenced(KEY).set(log.holder, lease.fence)
    finally:
        with log.releasing():
            await lease.release()


EXPECTED = (LockTimeout, LeaseLost, StaleFence, HoldfastError, Interrupted)


CYCLES: dict[str, Callable[[Any, HolderOptions, HolderLog], None]] = {
    **naive_locks.CYCLES,
    "singleton": singletons.blocking,
}
"""How holders of the blocking half take, use and release it, where it is not `blocking`."""


def run_blocking(options: HolderOptions, recorder: Recorder) -> None:
    """Run the holders in threads."""
    with opened(Holdfast, options.url, options.namespace, options.access) as hf:
        cycle = CYCLES.get(options.kind, blocking)

        def hold(n: int) -> None:
            log = HolderLog(recorder, f"{recorder.process}.{n}")
            while not options.stopped():
                try:
                    cycle(hf, options, log)
                except EXPECTED as error:
                    print(type(error).__name__, error, flush=True)
                    time.sleep(0.01 if isinstance(error, ServerUnavailable) else 0)
                if options.once:
                    return

        if options.alarm_s:
            hold(0)
            return
        threads = [threading.Thread(target=hold, args=(n,)) for n in range(options.holders)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()


async def run_asynchronous(options: HolderOptions, recorder: Recorder) -> None:
    """Run the holders in tasks."""
    async with opened(AsyncHoldfast, options.url, options.namespace, options.access) as hf:
        cycle = singletons.asynchronous if options.kind == "singleton" else asynchronous

        async def hold(n: int) -> None:
            log = HolderLog(recorder, f"{recorder.process}.{n}")
            while not options.stopped():
                try:
                    async with asyncio.timeout(options.patience_s()):
                        await cycle(hf, options, log)
                except (*EXPECTED, TimeoutError) as error:
                    print(type(error).__name__, error, flush=True)
                    await asyncio.sleep(0.01 if isinstance(error, ServerUnavailable) else 0)
                if options.once:
                    return

        await asyncio.gather(*(hold(n) for n in range(options.holders)))


def play(**about: Any) -> None:
    """Run the holders with these fields of `HolderOptions`."""
    options = HolderOptions(**about)
    if options.clock_off_s:
        now = time.time
        time.time = lambda: now() + options.clock_off_s
    failures = (LockTimeout, StaleFence)
    with Recorder(Path(options.folder) / f"{options.name}.jsonl", failures) as recorder:
        print("ready", flush=True)
        if options.half == "sync":
            run_blocking(options, recorder)
        else:
            asyncio.run(run_asynchronous(options, recorder))


if __name__ == "__main__":
    play(**json.loads(sys.argv[1]))
