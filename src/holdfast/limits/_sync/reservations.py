# Generated from _async/reservations.py by tools/unasync.py: edit that, then run `make sync`.
"""Send the reservations of rate limiters, several in one call."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from functools import partial
from typing import Any, Final, Protocol

import msgspec

from ...core._sync.caller import Argument, Caller
from ...core.concurrency._sync.batcher import Batcher
from ...core.concurrency._sync.cancellation import run_in_background
from ...core.concurrency._sync.local_resource import LocalResource
from ...core.names import Unit
from ...core.script import Script
from ...errors import (
    ClientClosed,
    HoldfastError,
    OutcomeUnknown,
    ServerRefused,
    ServerUnavailable,
)
from ..limit import Limit

RESERVE_MANY: Final = Script.load("holdfast.limits", "reserve_many")

MAX_RESERVATIONS: Final = 20
"""Maximum number of reservations in one call. With more, the server would wait while this process
prepares a call, and this process while the server executes it."""

MAX_CHARGES: Final = 64
"""Maximum number of costs in one call: one for each reservation and limit."""


class ChargedSubject(Protocol):
    """A subject as reservations need it: an `Subject`."""

    unit: Unit
    limits: tuple[Limit, ...]
    tags: tuple[int, ...]
    log_key: str
    sharing: tuple[str, int]

    def reserve_alone(self, mark: str, longest_ms: Argument, costs: tuple[int, ...]) -> Any:
        """Reserve in one call. Raise as `Caller.call`."""

    def undo(self, mark: str, at_ms: Argument, costs: Sequence[int]) -> None:
        """Give back a reservation."""


class NewReservation(msgspec.Struct, eq=False):
    """A reservation that is sent for the first time.

    Attributes:
        subject: what is charged.
        mark: mark of the operation.
        longest_ms: longest wait in milliseconds; empty: no limit.
        costs: the cost for each limit.
        is_abandoned: whether its caller was cancelled.
    """

    subject: ChargedSubject
    mark: str
    longest_ms: Argument
    costs: tuple[int, ...]
    is_abandoned: bool = False


class Reservations:
    """Send the reservations of a client.

    Reservations with the same limits that are made at the same time share a call, which costs much
    less than one call for each. Each has its own mark and reply. In a cluster, only subjects of the
    same slot share a call.

    Args:
        caller: calls the server.
    """

    def __init__(self, caller: Caller) -> None:
        self._caller = caller
        self._is_cluster = caller.settings.topology == "cluster"
        self._batcher: LocalResource[Batcher[tuple[str, int], NewReservation, Any]] = LocalResource(
            lambda: Batcher(self._send, MAX_RESERVATIONS, MAX_CHARGES)
        )

    def sharing(self, limits: str, slot: int) -> tuple[str, int]:
        """Return the key of a batch: subjects with equal keys may share a call.

        Args:
            limits: the limits, packed.
            slot: the slot of the subject.
        """
        return limits, slot if self._is_cluster else 0

    def submit(self, new: NewReservation) -> Any | None:
        """Make the reservation *new*. Raise as `Caller.call`.

        Returns:
            What `reserve.lua` replies. None: it was not made, and must be sent alone.
        """
        return self._batcher.get().submit(new.subject.sharing, new, len(new.costs))

    def _send(self, sharing: tuple[str, int], several: Sequence[NewReservation]) -> Sequence[Any]:
        """Make reservations in one call. Return the result of each; see `submit`."""
        del sharing
        try:
            if len(several) == 1:
                [new] = several
                return [new.subject.reserve_alone(new.mark, new.longest_ms, new.costs)]
            return self._reserve_together(several)
        except ServerRefused:
            if len(several) == 1:
                raise
            return [None for _ in several]  # One of the subjects may be the reason.
        except HoldfastError as error:
            if len(several) == 1:
                raise
            return [_own_error(error, new) for new in several]
        finally:
            _undo_abandoned(several)

    def _reserve_together(self, several: Sequence[NewReservation]) -> Sequence[Any]:
        first = several[0].subject
        args: list[Argument] = [len(first.limits)]
        for tag, limit in zip(first.tags, first.limits, strict=True):
            args += (tag, limit.amount, limit.per_ms)
        for new in several:
            args += (new.mark, new.longest_ms, *new.costs)
        log_keys = [new.subject.log_key for new in several]
        replies: Sequence[Any] = self._caller.call(RESERVE_MANY, first.unit, log_keys, args)
        return replies


def _own_error(error: HoldfastError, new: NewReservation) -> HoldfastError:
    """Return *error*, of a call with several reservations, as the error of *new*."""
    action = f"limits/reserve on {new.subject.unit}"
    match error:
        case OutcomeUnknown():
            return OutcomeUnknown(action, error.reason)
        case ServerUnavailable():
            return ServerUnavailable(
                action, error.reason, rejection=error.rejection, remedy=error.remedy
            )
        case ClientClosed():
            return ClientClosed(action)
        case _:
            return copy.copy(error)


def _undo_abandoned(several: Sequence[NewReservation]) -> None:
    """Undo the reservations of cancelled callers once more.

    The `undo` of such a caller may have reached the server before the reservation did.
    """
    for new in several:
        if new.is_abandoned:
            run_in_background(partial(new.subject.undo, new.mark, "", new.costs))
