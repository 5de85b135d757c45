"""Sends the steps of a worker to one queue, each until it is answered."""

from __future__ import annotations

import math
from typing import Final

from ...core import ledger
from ...core._async.caller import AsyncCaller
from ...core.clock import Deadline, backoff_s, since_boot
from ...core.concurrency._async.primitives import Event, sleep
from ...core.names import Unit
from ...errors import DamagedData, DecodeError, OutcomeUnknown, ServerUnavailable
from .damage import QueueDamage
from .server_contact import ServerContact
from .step import STEP, Step, StepReply

_MAX_PAUSE_S: Final = 1.0


class StepSender:
    """Sends steps: calls of `queues/step`, which settle and claim tasks.

    A step is repeated under the same number until it is answered.

    Args:
        caller: sends the calls.
        unit: the queue.
        worker: the worker's name, for people to read.
        lease_ms: life of a claim without renewal.
        damage: notes the steps that fail because another program has changed the keys of the queue.
        contact: records when the server answers.

    Attributes:
        answer_by: until when to wait for replies.
        has_member_ends: set when tasks of groups have ended, and their groups do not know it yet
            (see `GroupRelay`).
    """

    def __init__(
        self,
        caller: AsyncCaller,
        unit: Unit,
        worker: str,
        lease_ms: int,
        damage: QueueDamage,
        contact: ServerContact,
    ) -> None:
        self.answer_by: Deadline = Deadline(None)
        self.has_member_ends: Event = Event()
        self._caller, self._unit = caller, unit
        self._worker, self._lease_ms = worker, lease_ms
        self._damage, self._contact = damage, contact
        self._keys = STEP.keys(unit)
        self._writer, self._number = ledger.new_writer(), 0

    @property
    def is_used(self) -> bool:
        """Return whether a step may have been sent, so that the server may know this worker."""
        return self._number > 0

    def next_number(self) -> tuple[str, int]:
        """Return the writer and the number of the next step."""
        self._number += 1
        return self._writer, self._number

    async def answered(self, step: Step) -> StepReply:
        """Repeat *step* until the server answers it.

        Raises:
            ServerUnavailable, OutcomeUnknown: the worker ends, and its time for replies is over.
        """
        names = [*self._keys, *step.result_keys(self._unit)]
        args = step.arguments(self._worker, self._lease_ms)
        failures, unsure = 0, False
        while True:
            asked_at = since_boot()
            try:
                reply = await self._caller.call(
                    STEP,
                    self._unit,
                    names,
                    args,
                    durable=bool(step.settlements),  # a claim alone may be lost: it is only a lease
                )
            except (ServerUnavailable, OutcomeUnknown, DecodeError) as error:
                failures += 1
                unsure = unsure or isinstance(error, OutcomeUnknown)
                ending = math.isfinite(self.answer_by.at)
                # An ending worker needs no reply to a step that settles and has claimed nothing.
                needless = ending and not (unsure or step.settlements)
                if needless or self.answer_by.passed:
                    self._contact.gave_up(repeated=failures > 1)
                    raise
                self._contact.failed(error, first=failures == 1)
                self._damage.step_failed(error, failures)
                if isinstance(error, DamagedData) and args[0] == self._writer:
                    # The ledger entry of the writer may be damaged: continue with a new writer.
                    args[:2] = self._writer, self._number = ledger.new_writer(), 1
                await sleep(backoff_s(failures, 0.05, _MAX_PAUSE_S))
            else:
                self._contact.answered(repeated=failures > 0)
                return StepReply.parsed(asked_at, reply, self.has_member_ends)
