"""Some holders in one process, which record all they do: `python -m locks.faults.holder PLAN`.

PLAN is the JSON of a `Plan`. They take the lock, or a place of the semaphore, again and again,
write under the fence, and give it back, until the file `stop` appears.
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
from locks.faults import seed_locks

KEY = "contended"


class Plan(msgspec.Struct, kw_only=True):
    """What the holders of one process do.

    Attributes:
        kind: `lock`, `semaphore`, or one of the seed's: `seed lock`, `seed semaphore`.
        half: `sync` or `async`.
        limit: places of the semaphore.
        hold_s: how long each holds its place.
        once: end after one hold.
        access: see `opened`.
        alarm_s: see `struck`; then one holder of the blocking half works, in the main thread.
        storm_s: every other hold of the asyncio half is cancelled after so long; 0: none is.
        clock_off_s: by how much the clock on the wall of this process is wrong.
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
        """Until the next hold is cancelled; None: it is not."""
        return random.uniform(0, self.storm_s) if random.random() < 0.5 and self.storm_s else None

    @property
    def over(self) -> Callable[[], bool]:
        """Whether to stop."""
        return (Path(self.folder) / "stop").exists


class Diary:
    """What one holder notes, and when it notes it."""

    def __init__(self, recorder: Recorder, holder: str) -> None:
        self._recorder = recorder
        self._holder = holder

    def acquiring(self) -> AbstractContextManager[Pending]:
        return self._recorder.operation("acquire", key=KEY, holder=self._holder)

    def granted(self, op: Pending, lease: Lease | AsyncLease) -> None:
        op.result = lease.fence
        op.note(until_ns=until_ns(lease))

    def still_held(self, lease: Lease | AsyncLease) -> bool:
        """Note that it believes in its place, or that it was told of the loss."""
        if lease.lost:
            with self._recorder.operation("lost", key=KEY, holder=self._holder):
                return False
        with self._recorder.operation("renew", key=KEY, holder=self._holder) as op:
            op.result = True
            op.note(until_ns=until_ns(lease))
        return True

    def writing(self, fence: int) -> AbstractContextManager[Pending]:
        return self._recorder.operation("write", key=KEY, holder=self._holder, fence=fence)

    def releasing(self) -> AbstractContextManager[Pending]:
        return self._recorder.operation("release", key=KEY, holder=self._holder)


def until_ns(lease: Lease | AsyncLease) -> int:
    """When the lease ends, as its holder reckons."""
    return time.monotonic_ns() + round(lease.remaining * 1e9)


def steps(plan: Plan) -> list[float]:
    """The naps of a hold: a holder looks at its lease before each, and writes after."""
    count = max(1, round(plan.hold_s / 0.05))
    return [plan.hold_s / count] * count


def blocking(hf: Holdfast, plan: Plan, diary: Diary) -> None:
    """One cycle."""
    held = hf.lock(KEY, lease=plan.lease)
    if plan.kind == "semaphore":
        held = hf.semaphore(KEY, limit=plan.limit, lease=plan.lease)
    with diary.acquiring() as op:
        lease = struck(lambda: held.acquire(timeout=plan.timeout), plan.alarm_s)
        diary.granted(op, lease)
    try:
        for nap_s in steps(plan):
            if not diary.still_held(lease):
                break
            time.sleep(nap_s)
            if plan.kind == "lock":
                with diary.writing(lease.fence) as op:
                    op.result = True
                    hf.fenced(KEY).set(diary._holder, lease.fence)
    finally:
        with diary.releasing():
            struck(lease.release, plan.alarm_s)


async def asynchronous(hf: AsyncHoldfast, plan: Plan, diary: Diary) -> None:
    """One cycle."""
    held = hf.lock(KEY, lease=plan.lease)
    if plan.kind == "semaphore":
        held = hf.semaphore(KEY, limit=plan.limit, lease=plan.lease)
    with diary.acquiring() as op:
        lease = await held.acquire(timeout=plan.timeout)
        diary.granted(op, lease)
    try:
        for nap_s in steps(plan):
            if not diary.still_held(lease):
                break
            await asyncio.sleep(nap_s)
            if plan.kind == "lock":
                with diary.writing(lease.fence) as op:
                    op.result = True
                    await hf.fenced(KEY).set(diary._holder, lease.fence)
    finally:
        with diary.releasing():
            await lease.release()


EXPECTED = (LockTimeout, LeaseLost, StaleFence, HoldfastError, Interrupted)


def run_blocking(plan: Plan, recorder: Recorder) -> None:
    """Holders in threads."""
    with opened(Holdfast, plan.url, plan.namespace, plan.access) as hf:
        cycle = seed_locks.CYCLES.get(plan.kind, blocking)

        def hold(n: int) -> None:
            diary = Diary(recorder, f"{recorder.process}.{n}")
            while not plan.over():
                try:
                    cycle(hf, plan, diary)
                except EXPECTED as error:
                    print(type(error).__name__, error, flush=True)
                    time.sleep(0.01 if isinstance(error, ServerUnavailable) else 0)
                if plan.once:
                    return

        if plan.alarm_s:
            hold(0)
            return
        threads = [threading.Thread(target=hold, args=(n,)) for n in range(plan.holders)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()


async def run_asynchronous(plan: Plan, recorder: Recorder) -> None:
    """Holders in tasks."""
    async with opened(AsyncHoldfast, plan.url, plan.namespace, plan.access) as hf:

        async def hold(n: int) -> None:
            diary = Diary(recorder, f"{recorder.process}.{n}")
            while not plan.over():
                try:
                    async with asyncio.timeout(plan.patience_s()):
                        await asynchronous(hf, plan, diary)
                except (*EXPECTED, TimeoutError) as error:
                    print(type(error).__name__, error, flush=True)
                    await asyncio.sleep(0.01 if isinstance(error, ServerUnavailable) else 0)
                if plan.once:
                    return

        await asyncio.gather(*(hold(n) for n in range(plan.holders)))


def play(**about: Any) -> None:
    """Do what the plan says that has these fields."""
    plan = Plan(**about)
    if plan.clock_off_s:
        now = time.time
        time.time = lambda: now() + plan.clock_off_s
    failures = (LockTimeout, StaleFence)
    with Recorder(Path(plan.folder) / f"{plan.name}.jsonl", failures) as recorder:
        print("ready", flush=True)
        if plan.half == "sync":
            run_blocking(plan, recorder)
        else:
            asyncio.run(run_asynchronous(plan, recorder))


if __name__ == "__main__":
    play(**json.loads(sys.argv[1]))
