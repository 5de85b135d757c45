"""Locks on a server that restarts from an older state: they become free, losses are reported."""

import contextlib
import secrets
import threading
from typing import Any

import pytest

from faults.halves import Half
from faults.rollback import Rollback
from faults.waiting import eventually
from holdfast import LeaseLost

LEASE_S = 1.0
FREE_S = 30.0
"""A guard against hanging: an abandoned permit costs a lease and some seconds."""


class TwoClients:
    """Two clients that want one lock, or the last permit of a semaphore."""

    def __init__(self, half: Half, rollback: Rollback, kind: str) -> None:
        url, namespace = f"{rollback.server.url}?socket_timeout=1", f"old-{secrets.token_hex(4)}"
        self.half = half
        self.clients = [half.client(url, namespace) for _ in range(2)]
        self.sides = [
            hf.lock("sale", lease=LEASE_S)
            if kind == "lock"
            else hf.semaphore("sale", limit=1, lease=LEASE_S)
            for hf in self.clients
        ]

    def acquire(self, side: int) -> Any:
        return self.half.insist(lambda: self.sides[side].acquire(timeout=FREE_S))

    def release(self, lease: Any) -> None:
        self.half.insist(lease.release)

    def waiting(self, side: int) -> list[Any]:
        """Let a thread wait; return a list that gets its lease."""
        granted: list[Any] = []
        threading.Thread(target=lambda: granted.append(self.acquire(side)), daemon=True).start()
        eventually(lambda: self.half.do(self.sides[0].inspect()).waiters)
        return granted

    def becomes_free(self) -> None:
        """Check that both clients get it in turn, and that it is free afterwards."""
        for side in (0, 1):
            self.release(self.acquire(side))
        eventually(self._is_free, FREE_S)

    def _is_free(self) -> bool:
        state = self.half.insist(self.sides[0].inspect)
        held = state.holder if hasattr(state, "holder") else state.holders
        return not held and not state.waiters


@pytest.fixture(params=["lock", "semaphore"])
def clients(request: pytest.FixtureRequest, half: Half, rollback: Rollback) -> TwoClients:
    return TwoClients(half, rollback, request.param)


def test_a_released_lease_that_is_restored_ends(clients: TwoClients, rollback: Rollback) -> None:
    lease = clients.acquire(0)
    rollback.save()
    clients.release(lease)
    rollback.restart()
    clients.becomes_free()


def test_a_holder_that_the_server_forgot_learns_of_the_loss(
    clients: TwoClients, rollback: Rollback
) -> None:
    rollback.save()
    lease = clients.acquire(0)
    rollback.restart()
    eventually(lambda: lease.lost, FREE_S)
    with pytest.raises(LeaseLost):
        clients.release(lease)
    clients.becomes_free()


def test_a_holder_that_the_server_still_knows_continues(
    clients: TwoClients, rollback: Rollback
) -> None:
    """Lost renewals cost nothing if the server is back in time."""
    lease = clients.acquire(0)
    rollback.save()
    rollback.restart()
    if not lease.lost:  # unless the machine was too slow
        granted = clients.waiting(1)
        clients.release(lease)
        eventually(lambda: granted, FREE_S)
        clients.release(granted[0])
    clients.becomes_free()


def test_a_waiter_that_the_server_forgot_is_queued_again(
    clients: TwoClients, rollback: Rollback
) -> None:
    lease = clients.acquire(0)
    rollback.save()
    granted = clients.waiting(1)
    rollback.restart()
    if not lease.lost:
        clients.half.insist(lease.release)
    eventually(lambda: granted, FREE_S)
    clients.release(granted[0])
    clients.becomes_free()


@pytest.mark.sampled(2)
@pytest.mark.parametrize("then", ["held", "released"])
def test_a_waiter_that_was_served_since_then_blocks_no_other(
    clients: TwoClients, rollback: Rollback, then: str
) -> None:
    lease = clients.acquire(0)
    granted = clients.waiting(1)
    rollback.save()
    clients.release(lease)
    eventually(lambda: granted, FREE_S)
    if then == "released":
        clients.release(granted[0])
    rollback.restart()
    if then == "held":
        with contextlib.suppress(LeaseLost):  # the server does not know of it
            clients.release(granted[0])
    clients.becomes_free()


def test_a_fence_that_the_server_forgot_is_not_used_again(
    clients: TwoClients, rollback: Rollback
) -> None:
    """Fences follow the server's clock, so new ones are higher than those that it forgot."""
    rollback.save()
    fences = []
    for side in (0, 1, 0):
        lease = clients.acquire(side)
        fences.append(lease.fence)
        clients.release(lease)
    rollback.restart()
    lease = clients.acquire(1)
    assert lease.fence > max(fences)
    clients.release(lease)
