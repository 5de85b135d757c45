"""Renew the lease of a value while the function computes it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from ..core.clock import since_boot
from ..core.renewer import RenewedLease, Renewer
from ..core.script import Script
from .call_key import CallKey
from .options import MAX_LEASES

RENEW: Final = Script.load("holdfast.cache", "renew")


class LoadRenewal:
    """Renews the leases of the values of one function.

    Args:
        renewer: renews leases in a thread of its own, so a function may block its loop.
        lease_ms: duration of a lease.
    """

    def __init__(self, renewer: Renewer, lease_ms: int) -> None:
        self._renewer = renewer
        self._lease_ms = lease_ms

    @contextmanager
    def renewing(self, key: CallKey, token: str) -> Iterator[None]:
        """Renew the lease *token* of a value in this context.

        If the lease is lost, nothing happens here: the result will not be stored.
        """
        now = since_boot()
        # The renewer renews all leases of a unit in one call with the keys of one of them. The
        # unit `events` is different for each value, so no call contains leases of two values.
        lease = RenewedLease(
            unit=key.events,
            script=RENEW,
            keys=[key.load],
            member=token.encode(),
            token=0,
            lease_ms=self._lease_ms,
            taken_at=now,
            on_lost=_ignore,
            listed=False,
            until=now + MAX_LEASES * self._lease_ms / 1000,
        )
        self._renewer.keep(lease)
        try:
            yield
        finally:
            self._renewer.drop(lease)


def _ignore() -> None:
    """Do nothing: the server refuses the result of a lost lease."""
