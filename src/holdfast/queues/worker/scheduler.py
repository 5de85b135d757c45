"""Fires the schedules of the queues that a worker serves.

Each worker of a queue does so; there is no leader. `fire.lua` compares the stored instant with the
one that a worker has read, so each occurrence is enqueued once, by the first worker.
"""

from __future__ import annotations

import logging
import random
from collections.abc import Callable, Sequence
from typing import Final

from ...core._async.caller import Argument, AsyncCaller
from ...core.clock import Deadline, backoff_s
from ...core.concurrency._async.primitives import Event, sleep
from ...core.error_text import log_safely
from ...core.names import Unit
from ...core.notifier import Notifier
from ...core.script import Script
from ...errors import DecodeError, HoldfastError, ScheduleExists
from ...errors.one_line_logger import logger_of
from .._async.schedule_store import AsyncScheduleStore
from ..schedule.definition import ScheduleDefinition
from ..schedule.firing import MAX_PER_STEP, Firing, firing
from ..schedule.status import StoredSchedule

logger: Final = logger_of("holdfast.worker")

FIRE: Final = Script.load("holdfast.queues", "fire")

BATCH: Final = 100
"""Schedules that one step fires at most."""

BATCH_TASKS: Final = 200
"""Tasks that one step enqueues at most."""

_RECHECK_S: Final = 30.0
"""Seconds after which the schedules are read again, although no notification came."""

_BLOCKED_S: Final = 1.0
"""Seconds after which a schedule is tried again that a full queue could not take."""

_REFRESH_S: Final = 3600.0
"""Seconds after which a worker reports again that it declares its schedules."""

_LONGEST_PAUSE_S: Final = 1.0

_STANDBY_S: Final = 0.25
"""Seconds beyond the next instant that a worker waits at most, if other workers fire before it."""

_FIRST_STANDBY_S: Final = 0.01


class Scheduler:
    """Fires the schedules of one queue.

    Args:
        caller: sends the commands.
        store: reads and writes schedules.
        notifier: reports that a schedule has changed.
        unit: the queue.
        definitions: the schedules of the queue that the application declares.
    """

    def __init__(
        self,
        caller: AsyncCaller,
        store: AsyncScheduleStore,
        notifier: Notifier,
        unit: Unit,
        definitions: Sequence[ScheduleDefinition],
    ) -> None:
        self._caller = caller
        self._store = store
        self._notifier = notifier
        self._unit = unit
        self._definitions = list(definitions)
        self._keys = FIRE.keys(unit)
        self._undeclared = list(definitions)
        self._refresh = Deadline(_REFRESH_S)
        self._damaged: set[str] = set()  # names of damaged schedules that were logged
        self._full: set[str] = set()  # names of schedules with a full queue that were logged
        self._replaced: set[str] = set()  # names with another stored definition that were logged
        self._has_fired = False
        self._standby_s = 0.0
        self._most: dict[str, int] = {}  # name -> occurrences to enqueue at once; fewer than usual

    async def begin(self, is_stopping: Callable[[], bool]) -> None:
        """Declare the schedules, and fire what is due. Try again while the server is away."""
        failures = 0
        while not is_stopping():
            try:
                await self._declare()
                await self.fire_due()
            except HoldfastError as error:
                failures += 1
                self._log_failure(failures, error)
                await sleep(backoff_s(failures, 0.05, _LONGEST_PAUSE_S))
            else:
                return

    async def run(self) -> None:
        """Fire what becomes due, until cancelled."""
        flag, failures = Event(), 0
        with self._notifier.follow([self._unit], flag):
            while True:
                flag.clear()
                try:
                    await self._declare()
                    pause_s = await self.fire_due() + self._standby()
                except HoldfastError as error:
                    failures += 1
                    self._log_failure(failures, error)
                    pause_s = backoff_s(failures, 0.05, _LONGEST_PAUSE_S)
                else:
                    failures = 0
                await flag.wait(min(pause_s, _RECHECK_S))

    async def fire_due(self) -> float:
        """Fire what is due; return the seconds until the next instant.

        Raises:
            HoldfastError: The server cannot be reached.
        """
        start = 0
        self._has_fired = False
        while True:
            reply = await self._store.page(self._unit, start=start, limit=BATCH, until="now")
            self._log_damaged(reply.damaged)
            blocked = await self._fire(reply.schedules, reply.now_ms) + len(reply.damaged)
            start += blocked
            if reply.total == blocked:
                pause_s = max(0.0, reply.later_ms - reply.now_ms) / 1000
                return min(pause_s, _BLOCKED_S) if start else pause_s

    def _standby(self) -> float:
        """Return how much longer to wait for the next instant.

        The worker that has fired waits no longer than until the instant. Each other worker adds a
        random delay: otherwise all workers would ask the server at each instant, all but one in
        vain.
        """
        if self._has_fired:
            self._standby_s = 0.0
        else:
            self._standby_s = min(_STANDBY_S, max(_FIRST_STANDBY_S, 2 * self._standby_s))
        return random.random() * self._standby_s

    async def _fire(self, schedules: Sequence[StoredSchedule], now_ms: int) -> int:
        """Fire *schedules*, which are due.

        Returns:
            How many schedules remain due: the queue is full, or this worker cannot fire them.
        """
        steps: list[list[tuple[ScheduleDefinition, Firing, list[Argument]]]] = [[]]
        tasks = 0
        remaining = 0
        for stored in schedules:
            try:
                definition = ScheduleDefinition.unpacked(stored.name, stored.definition)
                most = self._most.get(stored.name, MAX_PER_STEP)
                found = firing(definition, stored.record, int(stored.next_ms), now_ms, most)
            except DecodeError as error:
                self._log_damaged({stored.name: error})
                remaining += 1
                continue
            except ModuleNotFoundError as error:  # a worker that has cronsim fires it
                self._log_missing(stored.name, error)
                remaining += 1
                continue
            if tasks + len(found.instants_ms) > BATCH_TASKS:
                steps.append([])
                tasks = 0
            tasks += len(found.instants_ms)
            steps[-1].append((definition, found, _arguments(definition, stored, found, now_ms)))
        for step in filter(None, steps):
            arguments = [argument for _, _, each in step for argument in each]
            # If the call is repeated, it finds later instants stored, and changes nothing.
            *answers, fired_ms = await self._caller.call(
                FIRE, self._unit, self._keys, arguments, harmless=True
            )
            for (definition, found, _), answer in zip(step, answers, strict=True):
                if answer == b"full":
                    remaining += self._waits(definition.name, len(found.instants_ms))
                else:
                    self._has_fired = self._has_fired or answer != b"stale"
                    self._record(definition, found, answer, fired_ms)
                    await self._fired(definition, found, answer)
        return remaining

    def _waits(self, name: str, occurrences: int) -> bool:
        """Return whether a schedule waits, because the queue has no room for one occurrence.

        If it has no room for several *occurrences*, then the next step tries fewer.
        """
        if occurrences > 1:
            self._most[name] = occurrences // 2
            return False
        if name not in self._full:
            self._full.add(name)
            logger.warning("schedule %s of %s waits: the queue is full", name, self._unit)
        return True

    def _record(
        self, definition: ScheduleDefinition, found: Firing, answer: bytes, fired_ms: int
    ) -> None:
        """Record in the telemetry how one schedule was fired."""
        telemetry = self._caller.settings.telemetry
        if telemetry is None or answer == b"stale":
            return
        fired = found.instants_ms if answer == b"fired" else ()
        if definition.overlap == "skip":
            fired = fired[:1]  # the task of the first one has not ended when the next one comes
        skipped = len(found.instants_ms) - len(fired)
        counts = ("fired", len(fired)), ("skipped", skipped), ("missed", found.missed)
        for each, amount in counts:
            if amount:
                telemetry.count("occurrences", self._unit, amount, each)
        for instant_ms in fired:
            telemetry.delayed("schedule", self._unit, max(0, fired_ms - instant_ms) / 1000)

    async def _fired(self, definition: ScheduleDefinition, found: Firing, answer: bytes) -> None:
        """Log how one schedule was fired; forget it if it has ended."""
        name, unit = definition.name, self._unit
        self._full.discard(name)
        most = 2 * self._most.pop(name, MAX_PER_STEP)
        if most < MAX_PER_STEP:
            self._most[name] = most
        if answer == b"skipped":
            text = "schedule %s of %s: skipped, its last task or one with its key has not ended"
            logger.info(text, name, unit)
        if found.missed and answer != b"stale":
            logger.warning("schedule %s of %s missed %d occurrences", name, unit, found.missed)
        if found.next_ms is None and answer != b"stale":
            await self._store.forget(name, unit.name)

    async def _declare(self) -> None:
        """Store the declared schedules, and report now and then that they are still declared."""
        while self._undeclared:
            definition = self._undeclared[-1]
            try:
                if not await self._store.define(definition):
                    self._definitions.remove(definition)
            except (ScheduleExists, ValueError) as error:
                text = "schedule %s of %s does not fire as this worker declares it"
                log_safely(logger, logging.ERROR, text, definition.name, self._unit, error=error)
            self._undeclared.pop()
        if self._refresh.passed:
            for definition in self._definitions:
                if not await self._store.refresh(definition):
                    self._log_other(definition.name)
            self._refresh = Deadline(_REFRESH_S)

    def _log_other(self, name: str) -> None:
        if name not in self._replaced:
            self._replaced.add(name)
            text = (
                "schedule %s of %s: the definition in this worker is not in force. It was removed, "
                "or another program has declared this name since, such as a newer version"
            )
            logger.warning(text, name, self._unit)

    def _log_failure(self, failures: int, error: HoldfastError) -> None:
        level = logging.WARNING if failures == 1 else logging.DEBUG
        logger.log(level, "schedules of %s: %s; asking again", self._unit, error)

    def _log_damaged(self, damaged: dict[str, DecodeError]) -> None:
        for name, error in damaged.items():
            if name not in self._damaged:
                self._damaged.add(name)
                text = "schedule %s of %s cannot be read, and does not fire"
                log_safely(logger, logging.ERROR, text, name, self._unit, error=error)

    def _log_missing(self, name: str, error: ModuleNotFoundError) -> None:
        if name not in self._damaged:
            self._damaged.add(name)
            logger.error("schedule %s of %s does not fire here: %s", name, self._unit, error)


def _arguments(
    definition: ScheduleDefinition, stored: StoredSchedule, found: Firing, now_ms: int
) -> list[Argument]:
    """Return the arguments of `fire.lua` for one schedule."""
    arguments: list[Argument] = [
        *(definition.name, stored.record.revision, int(stored.next_ms), found.last_ms),
        "" if found.next_ms is None else found.next_ms,
        *(definition.overlap, found.missed, len(found.instants_ms)),
    ]
    for instant_ms in found.instants_ms:
        task_id, priority, _, expires, envelope = definition.task(instant_ms, now_ms)
        arguments += [task_id, priority, expires, envelope]
    return arguments
