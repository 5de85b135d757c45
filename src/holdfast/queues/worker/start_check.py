"""Checks that the servers accept a worker that starts: its credentials, permissions and TLS."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from ...core._async.caller import AsyncCaller
from ...core._async.catalog import NOTE
from ...core.clock import backoff_s
from ...core.names import Namespace, Unit
from ...errors import OutcomeUnknown, ServerUnavailable, WorkerCannotStart
from ...errors.one_line_logger import logger_of
from .claimer import NEXT_DUE, Claimer
from .heartbeat import HEARTBEAT, LEAVE
from .held_claims import RENEW
from .outages import Outages, plain_reason
from .permissions import HINT, commands_of, denied_commands
from .step import STEP

logger: Final = logger_of("holdfast.worker")

_NEEDED: Final = (STEP, RENEW, NEXT_DUE, HEARTBEAT, LEAVE, NOTE)

_FIRST_PAUSE_S: Final = 0.05
_LONGEST_PAUSE_S: Final = 1.0

_REMEDIES: Final = {
    "credentials": "correct them in the URL, or create the user on each server",
    "layout": "install a version of holdfast that can read it, and restart this worker",
    "settings": "check the number of the database in the URL, and the settings of the server",
}
"""What to do about a rejection, if the error does not say it. Missing permissions need a rule."""


class StartCheck:
    """Checks the server of each queue before its first task is claimed.

    - If a server rejects the worker, the worker ends, because waiting would only hide the mistake.
    - If a server cannot be reached, the worker waits, because the server may be starting too.
    - If the worker had to wait for a server, already serves other queues, and is then rejected by
      that server, it treats this as an outage. It does the same if the server of a partition
      rejects it and the partition was added while the worker ran.

    Args:
        caller: sends calls to the servers.
        namespace: namespace of the queues.
        outages: logs the servers that do not answer.
    """

    def __init__(self, caller: AsyncCaller, namespace: Namespace, outages: Outages) -> None:
        self._caller = caller
        self._rule = (
            f"set the rule that `holdfast acl --namespace {namespace.name}` prints, on each server"
        )
        self._outages = outages
        self._passed: set[Unit] = set()
        self._warned = False
        self._stopping = False

    def stop(self) -> None:
        """End the checks that wait for a server. From any thread or signal handler."""
        self._stopping = True

    @property
    def has_begun(self) -> bool:
        """Return whether the server of some queue has accepted this worker."""
        return bool(self._passed)

    def has_passed(self, units: Iterable[Unit]) -> bool:
        """Return whether the servers of all *units* have accepted this worker."""
        return self._passed.issuperset(units)

    async def wait_passed(self, claimer: Claimer) -> None:
        """Wait until the server of a queue accepts this worker, or until `stop`.

        Raises:
            WorkerCannotStart: the server rejects this worker while it starts.
        """
        failures, unit = 0, claimer.unit
        while not self._stopping:
            try:
                await self._check(unit)
            except WorkerCannotStart as error:
                if not claimer.was_added:
                    raise
                reason = error.reason
            except (ServerUnavailable, OutcomeUnknown) as error:
                waited = claimer.was_added or failures > 0
                self._raise_rejection(unit, error, waited=waited)
                reason = error.reason
            else:
                self._passed.add(unit)
                self._outages.answered(unit)
                return
            failures += 1
            self._outages.failed(unit, reason)
            pause_s = backoff_s(failures, _FIRST_PAUSE_S, _LONGEST_PAUSE_S)
            claimer.woken.clear()
            await claimer.woken.wait(pause_s)

    async def _check(self, unit: Unit) -> None:
        commands = commands_of(_NEEDED)
        denied = await denied_commands(self._caller, unit, commands)
        if missing := [name for name in denied if name != HINT]:
            raise WorkerCannotStart(
                self._where(unit), "permission", f"no right to {', '.join(missing)}", self._rule
            )
        if denied and not self._warned:
            self._warned = True
            logger.warning(
                "%s denies this user to publish notifications: tasks may start a second late; %s",
                self._where(unit),
                self._rule,
            )

    def _raise_rejection(
        self, unit: Unit, error: ServerUnavailable | OutcomeUnknown, *, waited: bool
    ) -> None:
        """Raise `WorkerCannotStart` if *error* shows a rejection; return if it shows an outage."""
        if waited and self._passed:
            return
        rejection, where = getattr(error, "rejection", ""), self._where(unit)
        reason = plain_reason(error.reason).removeprefix(f"{where}: ")
        if rejection:
            remedy = getattr(error, "remedy", "") or _REMEDIES.get(rejection, self._rule)
            raise WorkerCannotStart(where, rejection, reason, remedy) from None

    def _where(self, unit: Unit) -> str:
        return server_of(self._caller, unit)


def server_of(caller: AsyncCaller, unit: Unit) -> str:
    """Return the address of the server of *unit*; if unknown, all addresses in the settings."""
    settings, address = caller.settings, caller.address_of(unit)
    return ", ".join(map(settings.where, [address] if address else settings.addresses))
