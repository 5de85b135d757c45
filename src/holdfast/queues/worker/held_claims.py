"""The claims of one queue that a worker holds, with their leases."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Final

from ...core._async.caller import AsyncCaller
from ...core.clock import since_boot
from ...core.concurrency.loop_thread import OwnLoop
from ...core.names import Unit
from ...core.renewer import RenewedLease, Renewer
from ...core.script import Script
from ...errors import HoldfastError
from .claim import Claim

RENEW: Final = Script.load("holdfast.queues", "renew")

_LOST: Final = "lost its lease, or was cancelled"


class HeldClaims:
    """Renews the leases of claims, and reports those that are lost.

    Args:
        renewer: renews the leases.
        unit: the queue.
        lease_ms: life of a claim without renewal.
        on_lost: called in the worker's loop with each claim that was lost, and why.
    """

    def __init__(
        self, renewer: Renewer, unit: Unit, lease_ms: int, on_lost: Callable[[Claim, str], None]
    ) -> None:
        self._renewer = renewer
        self._unit = unit
        self._lease_ms = lease_ms
        self._on_lost = on_lost
        self._loop = OwnLoop()
        self._keys = RENEW.keys(unit)
        self._leases: dict[Claim, RenewedLease] = {}
        self._lost: set[Claim] = set()

    def __contains__(self, claim: Claim) -> bool:
        return claim in self._leases

    def __iter__(self) -> Iterator[Claim]:
        return iter(list(self._leases))

    def is_lost(self, claim: Claim) -> bool:
        """Return whether this worker knows that it does not hold *claim* any more."""
        return claim in self._lost

    def keep(self, claim: Claim, asked_at: float) -> None:
        """Renew the lease of *claim* from now on. The claim was requested at *asked_at*."""
        self._leases[claim] = lease = RenewedLease(
            self._unit,
            RENEW,
            self._keys,
            claim.key,
            claim.token,
            self._lease_ms,
            asked_at,
            partial(self._lose_soon, claim, _LOST),
        )
        self._renewer.keep(lease)

    async def renew(self, caller: AsyncCaller, claims: Sequence[Claim]) -> None:
        """Renew the leases of *claims* now, and report those that are lost.

        If the server does not answer, do nothing: the renewer tries again later.
        """
        pairs = [part for claim in claims for part in (claim.key, claim.token)]
        asked_at, args = since_boot(), [self._lease_ms, *pairs]
        with contextlib.suppress(HoldfastError):
            reply = await caller.call(RENEW, self._unit, self._keys, args, durable=False)
            lost = set(zip(reply[::2], map(int, reply[1::2]), strict=True))
            for claim in claims:
                if claim.identity in lost:
                    self._lose(claim, _LOST)
                elif lease := self._leases.get(claim):
                    lease.taken_at = max(lease.taken_at, asked_at)

    def drop(self, claim: Claim) -> None:
        """Stop renewing the lease of *claim*, which was settled."""
        lease = self._leases.pop(claim, None)
        if lease is not None:
            self._renewer.drop(lease)
        self._lost.discard(claim)

    def receive(self, message: bytes) -> None:
        """Stop a task that was cancelled; `cancel.lua` sends the *message* `token id`."""
        token, _, key = message.partition(b" ")
        for claim in self:
            if (claim.key, b"%d" % claim.token) == (key, token):
                self._lose_soon(claim, "was cancelled")

    def _lose_soon(self, claim: Claim, why: str) -> None:
        """Report in the worker's loop that *claim* is lost. From any thread."""
        self._loop.call_soon(self._lose, claim, why)

    def _lose(self, claim: Claim, why: str) -> None:
        if claim in self._leases:  # otherwise it is settled, and the report came too late
            self._lost.add(claim)
            self._on_lost(claim, why)
