"""A server that restarts from an older state: each lock becomes free, and losses are reported."""

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


class Contest:
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
        """A list that gets the lease, once it is granted to a thread that waits in line."""
        granted: list[Any] = []
        threading.Thread(target=lambda: granted.append(self.acquire(side)), daemon=True).start()
        eventually(lambda: self.half.do(self.sides[0].inspect()).waiters)
        return granted

    def becomes_free(self) -> None:
        """Both can have it, one after the other; then no one holds it, or waits for it."""
        for side in (0, 1):
            self.release(self.acquire(side))
        eventually(self._is_free, FREE_S)

    def _is_free(self) -> bool:
        state = self.half.insist(self.sides[0].inspect)
        held = state.holder if hasattr(state, "holder") else state.holders
        return not held and not state.waiters


@pytest.fixture(params=["lock", "semaphore"])
def contest(request: pytest.FixtureRequest, half: Half, rollback: Rollback) -> Contest:
    return Contest(half, rollback, request.param)


def test_a_released_lease_that_comes_back_ends(contest: Contest, rollback: Rollback) -> None:
    lease = contest.acquire(0)
    rollback.save()
    contest.release(lease)
    rollback.restart()
    contest.becomes_free()


def test_a_holder_whom_the_server_forgot_is_told(contest: Contest, rollback: Rollback) -> None:
    rollback.save()
    lease = contest.acquire(0)
    rollback.restart()
    eventually(lambda: lease.lost, FREE_S)
    with pytest.raises(LeaseLost):
        contest.release(lease)
    contest.becomes_free()


def test_a_holder_that_the_server_still_knows_goes_on(contest: Contest, rollback: Rollback) -> None:
    """The renewals that the server lost cost nothing, if it is back in time."""
    lease = contest.acquire(0)
    rollback.save()
    rollback.restart()
    if not lease.lost:  # the machine was quick enough
        granted = contest.waiting(1)
        contest.release(lease)
        eventually(lambda: granted, FREE_S)
        contest.release(granted[0])
    contest.becomes_free()


def test_a_waiter_that_the_server_forgot_stands_in_line_again(
    contest: Contest, rollback: Rollback
) -> None:
    lease = contest.acquire(0)
    rollback.save()
    granted = contest.waiting(1)
    rollback.restart()
    if not lease.lost:
        contest.half.insist(lease.release)
    eventually(lambda: granted, FREE_S)
    contest.release(granted[0])
    contest.becomes_free()


@pytest.mark.parametrize("then", ["held", "released"])
def test_a_waiter_that_was_served_since_then_blocks_nobody(
    contest: Contest, rollback: Rollback, then: str
) -> None:
    lease = contest.acquire(0)
    granted = contest.waiting(1)
    rollback.save()
    contest.release(lease)
    eventually(lambda: granted, FREE_S)
    if then == "released":
        contest.release(granted[0])
    rollback.restart()
    if then == "held":
        with contextlib.suppress(LeaseLost):  # the server does not know of it
            contest.release(granted[0])
    contest.becomes_free()


def test_a_fence_that_the_server_forgot_is_not_given_out_again(
    contest: Contest, rollback: Rollback
) -> None:
    """The clock of the server goes on, so later fences are higher than all that it forgot."""
    rollback.save()
    fences = []
    for side in (0, 1, 0):
        lease = contest.acquire(side)
        fences.append(lease.fence)
        contest.release(lease)
    rollback.restart()
    lease = contest.acquire(1)
    assert lease.fence > max(fences)
    contest.release(lease)
