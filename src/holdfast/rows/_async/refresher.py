"""Refresh scheduled rows when they are due."""

from __future__ import annotations

import logging
import random
from typing import Final

from ...core.clock import Deadline, backoff_s
from ...core.concurrency._async.primitives import Event
from ...core.notifier import Notifier
from ...errors import DecodeError, OutcomeUnknown, ServerUnavailable
from ...errors.one_line_logger import logger_of
from ..options import MAX_BATCH
from ..report import RefreshReport
from ..source import NOT_SCHEDULED, LoadResult
from .loader import AsyncLoader
from .row_store import AsyncRowStore

logger: Final = logger_of("holdfast.rows")

RECHECK_PERIOD_S: Final = 300.0
"""Seconds, give or take a quarter, until an idle refresher claims rows without a notification. This
may be long: the refresher knows when the next row is due, and notifications report changes."""

_FIRST_PAUSE_S: Final = 0.5
_LONGEST_PAUSE_S: Final = 15.0
"""First pause and longest pause, in seconds, between attempts while the source or the server
fails."""


class AsyncRefresher:
    """Load rows when they are due, a batch at a time. Any number of refreshers share the work.

    Args:
        store: calls the server.
        loader: calls the source.
        notifier: reports rows that are due earlier than this refresher knows.
    """

    def __init__(self, store: AsyncRowStore, loader: AsyncLoader, notifier: Notifier) -> None:
        self._store = store
        self._loader = loader
        self._notifier = notifier
        self._flag: Event | None = None  # not None while `run` runs
        self._stopped = False
        self._failures = 0

    async def step(self, limit: int) -> RefreshReport:
        """Refresh at most *limit* due rows."""
        batches = await self._store.claim_due(limit)
        due = [member for claim in batches for member in claim.members]
        loaded = await self._loader.load(due, self._store.options.lease_ms / 1000)
        results = {
            claim.lease: {
                **dict.fromkeys(claim.unplanned, NOT_SCHEDULED),
                **{member: loaded.results[member] for member in claim.members},
            }
            for claim in batches
        }
        leases = [(lease, rows) for lease, rows in results.items() if rows]
        next_due_ms = {claim.lease.shard: claim.next_due_ms for claim in batches}
        digits: dict[str, str] = {}
        if leases:
            committed = await self._store.commit(leases, loaded.source_error)
            next_due_ms |= committed.next_due_ms
            digits = committed.digits
        report = RefreshReport.of(
            [(loaded.results.get(member, NOT_SCHEDULED).verb, digits[member]) for member in digits],
            loaded.source_error,
            next_due_ms.values(),
        )
        if report.failed:
            self._log_failures(loaded.results)
        return report

    async def run(self) -> None:
        """Refresh rows until `stop`. Continue after failures of the source and of the server."""
        if self._flag is not None:
            raise RuntimeError(f"this object already runs, for row cache {self._store.name!r}")
        try:
            self._flag = flag = Event()
            with self._notifier.lifetime.set_on_close(flag):
                while not self._stopped:
                    await self._refresh_until_failure(flag)
        finally:
            self._flag, self._stopped = None, False

    def stop(self) -> None:
        """Let `run` finish its batch and return. Any thread or signal handler may call it."""
        self._stopped = True
        if (flag := self._flag) is not None:
            flag.set_from_handler()

    async def _refresh_until_failure(self, flag: Event) -> None:
        """Refresh rows until `stop` or a failure of the server. Pause after a failure."""
        try:
            units = [shard.unit for shard in await self._store.shards()]
            with self._notifier.follow(units, flag):
                await self._refresh(flag)
        except (ServerUnavailable, OutcomeUnknown, DecodeError) as error:
            await self._pause(flag, str(error))

    async def _refresh(self, flag: Event) -> None:
        while not self._stopped:
            flag.clear()
            report = await self.step(MAX_BATCH)
            if report.source_error:
                await self._pause(flag, f"its source cannot be called: {report.source_error}")
                continue
            if self._failures:
                logger.warning("row cache %r is refreshed again", self._store.name)
                self._failures = 0
            # A row that another process loads is due again when the lease of that process ends. So
            # if the process dies, the row is late by at most a lease.
            pause_s = RECHECK_PERIOD_S * random.uniform(0.75, 1.25)
            wait_s = pause_s if report.next_due is None else min(report.next_due, pause_s)
            if wait_s > 0 and not self._stopped:
                await flag.wait(wait_s)

    async def _pause(self, flag: Event, why: str) -> None:
        """Wait after a failure, longer after each one. A notification does not end the wait."""
        self._failures += 1
        level = logging.WARNING if self._failures == 1 else logging.DEBUG
        logger.log(level, "row cache %r is not refreshed: %s", self._store.name, why)
        over = Deadline(backoff_s(self._failures, _FIRST_PAUSE_S, _LONGEST_PAUSE_S))
        while not (over.passed or self._stopped or self._notifier.lifetime.closed):
            flag.clear()
            if not self._stopped:
                await flag.wait(over.left_s())

    def _log_failures(self, results: dict[str, LoadResult]) -> None:
        failed = [member for member, result in results.items() if result.verb == "!"]
        logger.warning(
            "%s of row cache %r could not be loaded, such as %s: %s",
            "1 row" if len(failed) == 1 else f"{len(failed)} rows",
            self._store.name,
            failed[0],
            results[failed[0]].why,
        )
