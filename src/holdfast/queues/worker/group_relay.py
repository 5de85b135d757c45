"""Relay the ends of group members from their queue to their groups.

The keys of a queue and those of a group are in different hash slots, so no script can change both.
The script that ends a member notes the end in the queue of the member. Later, a worker of the queue
counts the end in the group, enqueues the tasks that the group calls because of it, and then removes
the note. Each of these writes can be repeated, so if a worker dies in between, nothing is lost.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from typing import Final

from ...core import ledger
from ...core._async.caller import Argument, AsyncCaller
from ...core.clock import backoff_s
from ...core.concurrency._async.primitives import Event, sleep
from ...core.error_text import log_safely
from ...core.names import Unit
from ...core.script import Script
from ...errors import DecodeError, GroupExists, HoldfastError
from ...errors.one_line_logger import logger_of
from ..groups._async.group_delivery import AsyncGroupDelivery
from ..groups.work import MemberEnd

logger: Final = logger_of("holdfast.worker")

RELAY: Final = Script.load("holdfast.queues", "relay_ends")

HOLD_MS: Final = 2_000
"""Milliseconds without a call of the current relay after which the relay of another worker takes
over.
"""

_GATHER_S: Final = 0.005
"""Seconds for which ends are collected, to be sent in one call."""

_LONGEST_PAUSE_S: Final = 1.0


class GroupRelay:
    """Relays the ends of the members in one queue to their groups.

    Args:
        caller: sends the commands.
        groups: counts the ends.
        unit: the queue.
        has_ends: set when the queue has ends of members.
        on_relayed: called when the groups have counted all ends.
    """

    def __init__(
        self,
        caller: AsyncCaller,
        groups: AsyncGroupDelivery,
        unit: Unit,
        has_ends: Event,
        on_relayed: Callable[[], None],
    ) -> None:
        self._caller = caller
        self._groups = groups
        self._unit = unit
        self._keys = RELAY.keys(unit)
        self._has_ends = has_ends
        self._on_relayed = on_relayed
        self._name = ledger.new_writer()
        self._number = 0
        self._working = False
        self._failures = 0

    @property
    def is_busy(self) -> bool:
        """Return whether the queue may have ends of members that their groups have not counted."""
        return self._working or self._has_ends.is_set()

    async def run(self) -> None:
        """Relay ends whenever there are some, until cancelled."""
        while True:
            await self._has_ends.wait(None)
            self._working = True
            self._has_ends.clear()
            await sleep(_GATHER_S)
            try:
                await self._drain()
            except HoldfastError as error:
                self._failures += 1
                self._log_failure(error)
                self._has_ends.set()
                await sleep(backoff_s(self._failures, 0.05, _LONGEST_PAUSE_S))
            else:
                self._failures = 0
                self._working = False
                self._on_relayed()

    async def _drain(self) -> None:
        """Relay until no end is left."""
        taken: Sequence[bytes] = ()
        deferred: Sequence[bytes] = ()
        while True:
            self._number += 1
            args: list[Argument] = [self._name, self._number, HOLD_MS, len(taken), *deferred]
            busy_ms, *taken = await self._caller.call(
                RELAY, self._unit, self._keys, args, harmless=True
            )
            deferred = ()
            if busy_ms:
                await sleep(busy_ms / 1000)  # another relay works
            elif not taken:
                return
            else:
                deferred = await self._deliver(taken)
                if deferred:
                    await sleep(backoff_s(self._failures, 0.05, _LONGEST_PAUSE_S))

    async def _deliver(self, entries: Sequence[bytes]) -> list[bytes]:
        """Count the ends in their groups. Return the entries that must be tried again."""
        by_group: dict[str, list[bytes]] = {}
        for entry in entries:
            name = entry.partition(b" ")[0].decode(errors="backslashreplace")
            by_group.setdefault(name, []).append(entry)
        deferred = []
        for group_id, found in by_group.items():
            try:
                await self._groups.count(group_id, [_member_end(entry) for entry in found])
            except (DecodeError, GroupExists, ValueError) as error:
                text = "the ends of %d members of group %r are not counted"
                log_safely(logger, logging.ERROR, text, len(found), group_id, error=error)
            except HoldfastError as error:
                self._failures += 1
                self._log_failure(error)
                deferred += found
        return deferred

    def _log_failure(self, error: HoldfastError) -> None:
        level = logging.WARNING if self._failures == 1 else logging.DEBUG
        logger.log(level, "groups with members in %s: %s; trying again", self._unit, error)


def _member_end(entry: bytes) -> MemberEnd:
    """Return the end of a member that `lua/parts/member.lua` has packed.

    Raises:
        ValueError: another program has changed the entry.
    """
    _, name, version, state, payload = entry.split(b" ", 4)
    return MemberEnd(name.decode(), int(version), state.decode(), payload)
