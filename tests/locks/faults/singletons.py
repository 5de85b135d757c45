"""Holders that run as a singleton: what they hold is recorded like a lock of `holder.py`.

An acquisition is on record from the call of `run`, or from the end of the last call of the
function, until the function is called: the server may have granted the lease at any moment in
between. One that is not granted before `run` returns has no fence.
"""

from __future__ import annotations

import asyncio
import time
from contextlib import ExitStack
from typing import TYPE_CHECKING

from faults.history import Pending
from faults.interrupts import struck
from holdfast import AsyncHoldfast, AsyncLease, Holdfast, Lease

if TYPE_CHECKING:
    from locks.faults.holder import HolderLog, HolderOptions

KEY = "contended"
"""The name of the singleton, and so of the lock that its processes compete for."""


class Asking:
    """Records when a process waits for its turn, and when it has it."""

    def __init__(self, log: HolderLog) -> None:
        self._log = log
        self._open = ExitStack()
        self._op: Pending | None = None

    def __enter__(self) -> Asking:
        self.begin()
        return self

    def __exit__(self, *error: object) -> None:
        self._open.__exit__(*error)  # type: ignore[arg-type]

    def begin(self) -> None:
        """Record that the process waits."""
        self._op = self._open.enter_context(self._log.acquiring())

    def granted(self, lease: Lease | AsyncLease) -> None:
        """Record that the function is called."""
        assert self._op is not None, "the function runs twice at once"
        self._log.granted(self._op, lease)
        self._op = None
        self._open.close()

    def ended(self) -> None:
        """Record that the function ends, and that the process waits: its lease may be lost yet."""
        with self._log.releasing():
            pass
        self.begin()


def blocking(hf: Holdfast, options: HolderOptions, log: HolderLog) -> None:
    """Run once. Signals strike what the function does, see `struck`."""

    def work(lease: Lease) -> None:
        asking.granted(lease)
        try:
            for nap_s in naps(options):
                if not log.still_held(lease):
                    return
                struck(lambda: time.sleep(nap_s), options.alarm_s)  # noqa: B023 (called at once)
                with log.writing(lease.fence) as op:
                    op.result = True
                    hf.fenced(KEY).set(log.holder, lease.fence)
        finally:
            asking.ended()

    with Asking(log) as asking:
        hf.singleton(KEY, lease=options.lease).run(work)


async def asynchronous(hf: AsyncHoldfast, options: HolderOptions, log: HolderLog) -> None:
    """Run once."""

    async def work(lease: AsyncLease) -> None:
        asking.granted(lease)
        try:
            for nap_s in naps(options):
                if not log.still_held(lease):
                    return
                await asyncio.sleep(nap_s)
                with log.writing(lease.fence) as op:
                    op.result = True
                    await hf.fenced(KEY).set(log.holder, lease.fence)
        finally:
            asking.ended()

    with Asking(log) as asking:
        await hf.singleton(KEY, lease=options.lease).run(work)


def naps(options: HolderOptions) -> list[float]:
    """Return the naps of one hold: a holder checks its lease before each, and writes after it."""
    count = max(1, round(options.hold_s / 0.05))
    return [options.hold_s / count] * count
