"""`AsyncPermit`: the right to proceed that a rate limiter gave."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

from ..costs import checked_actual
from ..decision import Decision
from .subject import AsyncReservation, AsyncSubject


class AsyncPermit:
    """A charged call, which may proceed. Made by `AsyncRateLimiter.acquire`.

    Attributes:
        waited: seconds that the caller waited.
    """

    def __init__(
        self,
        subject: AsyncSubject,
        reservation: AsyncReservation,
        costs: tuple[int, ...],
        waited: float,
    ) -> None:
        self._subject = subject
        self._reservation = reservation
        self._charged = costs
        self.waited = waited

    def __repr__(self) -> str:
        return f"AsyncPermit({self._subject.unit.name!r}, {self.charged})"

    @property
    def charged(self) -> dict[str, int]:
        """Return name → cost that is charged."""
        limits = self._subject.limits
        return {limit.key: cost for limit, cost in zip(limits, self._charged, strict=True)}

    @property
    def decision(self) -> Decision:
        """Return the state of the limits when the call was charged."""
        return self._reservation.decision

    async def settle(self, costs: Mapping[str, int], *, op_id: str | None = None) -> None:
        """Correct the charge, for example by the tokens that a response really took.

        - A lower cost lets later calls pass earlier. Calls that wait already keep their instants.
        - A higher cost may exceed the limit. Then later calls wait until the limit allows them.

        Args:
            costs: name of a limit → actual cost; other costs stay.
            op_id: see `OutcomeUnknown`.
        """
        actual = checked_actual(costs, self._subject.limits, self._charged)
        changes = [new - old for new, old in zip(actual, self._charged, strict=True)]
        if any(changes):
            repeat = partial(self.settle, costs)
            await self._subject.correct(self._reservation.at_ms, changes, op_id, repeat)
            self._charged = actual

    async def cancel(self) -> None:
        """Give back the whole charge, if the call was not made after all."""
        charged, self._charged = self._charged, tuple(0 for _ in self._charged)
        if any(charged):
            await self._subject.undo(self._reservation.mark, self._reservation.at_ms, charged)
