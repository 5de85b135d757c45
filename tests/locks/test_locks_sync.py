# Generated from test_locks_async.py by tools/unasync.py: edit that, then run `make sync`.
"""Locks, semaphores and fenced values in one client."""

import secrets
import time
from datetime import timedelta

import pytest

from conftest import Site
from faults.waiting import eventually
from holdfast import (
    DefinitionConflict,
    Holdfast,
    Lease,
    LeaseLost,
    LockTimeout,
    NotDefined,
    StaleFence,
)


def test_one_client_holds_the_lock_and_others_learn_its_name(hf: Holdfast) -> None:
    lock = hf.lock("market:item:42", lease=60.0)
    with lock.hold(timeout=30) as lease:
        assert 20.0 < lease.remaining <= 60.0
        assert not lease.lost
        state = lock.inspect()
        assert (state.holder, state.fence, state.waiters) == (lease.holder, lease.fence, ())
        assert 20.0 < state.remaining <= 60.0
        assert lock.try_acquire() is None
        with pytest.raises(LockTimeout, match="lock 'market:item:42' was not free") as caught:
            lock.acquire(timeout=0)
        assert caught.value.holder == lease.holder
    assert lease.remaining == 0
    assert not lease.lost
    state = lock.inspect()
    assert (state.holder, state.fence, state.remaining) == (None, None, 0)


def test_lock_timeout_is_a_timeout_error_with_the_time_waited(hf: Holdfast) -> None:
    lock = hf.lock("l")
    with lock.hold():
        with pytest.raises(TimeoutError) as caught:
            lock.acquire(timeout=timedelta(seconds=0.2))
        assert isinstance(caught.value, LockTimeout)
        assert caught.value.waited >= 0.2
        assert (lock.inspect()).waiters == ()


def test_fences_rise(hf: Holdfast) -> None:
    fences = []
    for _ in range(20):
        with hf.lock("l").hold() as lease:
            fences.append(lease.fence)
    assert fences == sorted(set(fences))
    semaphore = hf.semaphore("s", limit=3)
    leases = [semaphore.acquire() for _ in range(3)]
    assert [lease.fence for lease in leases] == sorted({lease.fence for lease in leases})
    for lease in leases:
        lease.release()


def test_fences_rise_when_the_server_forgot_everything(hf: Holdfast, site: Site) -> None:
    with hf.lock("l").hold() as lease:
        fence = lease.fence
    for key in site.client.scan_iter(match=f"{site.namespace}:*"):
        site.client.delete(key)
    with hf.lock("l").hold() as lease:
        assert lease.fence > fence


def test_a_lease_is_released_once(hf: Holdfast) -> None:
    lock = hf.lock("l")
    first = lock.acquire()
    first.release()
    second = lock.acquire()
    first.release()
    assert (lock.inspect()).holder == second.holder
    with pytest.raises(LeaseLost, match="released"):
        first.renew()
    second.release()


def test_a_semaphore_has_as_many_permits_as_its_limit(hf: Holdfast) -> None:
    semaphore = hf.semaphore("api", limit=2, lease=60.0)
    one, two = semaphore.acquire(), semaphore.acquire()
    assert semaphore.try_acquire() is None
    state = semaphore.inspect()
    assert state.limit == 2
    assert {holder.name for holder in state.holders} == {one.holder, two.holder}
    assert all(20 < holder.remaining <= 60 for holder in state.holders)
    one.release()
    three = semaphore.acquire(timeout=30)
    two.release()
    three.release()


def test_the_server_keeps_the_limit(hf: Holdfast) -> None:
    with pytest.raises(NotDefined, match="the limit of semaphore 'api'"):
        hf.semaphore("api").acquire()
    with hf.semaphore("api", limit=2).hold():
        pass
    with hf.semaphore("api").hold(), hf.semaphore("api").hold():
        assert hf.semaphore("api").try_acquire() is None
    with pytest.raises(DefinitionConflict, match="is 2, not 3") as caught:
        hf.semaphore("api", limit=3, on_conflict="error").acquire()
    assert (caught.value.stored, caught.value.given) == (2, 3)


def test_the_object_that_redefines_uses_the_new_limit(hf: Holdfast) -> None:
    semaphore = hf.semaphore("api", limit=1, on_conflict="error")
    other = hf.semaphore("api", limit=1, on_conflict="error")
    with semaphore.hold(timeout=0):
        semaphore.redefine(limit=2)
        with semaphore.hold(timeout=0):
            assert semaphore.try_acquire() is None
        with pytest.raises(DefinitionConflict, match="is 2, not 1"):
            other.try_acquire()


def test_a_smaller_limit_takes_no_permit_away(hf: Holdfast) -> None:
    semaphore = hf.semaphore("api", limit=3)
    leases = [semaphore.acquire() for _ in range(3)]
    semaphore.redefine(limit=1)
    taker = hf.semaphore("api")
    for lease in leases:
        assert not lease.lost
        assert taker.try_acquire() is None
        lease.release()
    with taker.hold(timeout=0):
        assert taker.try_acquire() is None
    assert (taker.inspect()).limit == 1


def test_a_lock_is_not_the_semaphore_of_the_same_name(hf: Holdfast) -> None:
    with hf.lock("x").hold(timeout=0), hf.semaphore("x", limit=1).hold(timeout=0):
        pass


def take_all(hf: Holdfast, names: list[str], timeout: float = 0.2) -> None:
    """Hold all locks for a moment."""
    with hf.lock_all(names).hold(timeout=timeout):
        pass


def test_all_locks_are_held_or_none(hf: Holdfast) -> None:
    with hf.lock_all(["b", "a", "b"]).hold(timeout=30) as leases:
        assert list(leases) == ["a", "b"]
        assert (hf.lock("a").inspect()).holder == leases["a"].holder
    with hf.lock("b").hold():
        with pytest.raises(LockTimeout, match="lock 'b'"):
            take_all(hf, ["a", "b", "c"])
        assert (hf.lock("a").inspect()).holder is None
        assert (hf.lock("c").inspect()).holder is None


def use(lease: Lease, error: Exception | None = None) -> None:
    """Use *lease* in a block that may raise *error*."""
    with lease:
        if error is not None:
            raise error


def test_an_error_of_the_body_is_not_hidden(hf: Holdfast, site: Site) -> None:
    lock = hf.lock("l")
    with pytest.raises(KeyError), lock.hold():
        raise KeyError("mine")
    with lock.hold(timeout=0):
        pass
    lease = lock.acquire()
    site.client.delete(f"{site.namespace}:{{lock:l}}:state")
    with pytest.raises(KeyError):
        use(lease, KeyError("mine"))


def test_a_permit_that_the_server_forgot_is_lost(hf: Holdfast, site: Site) -> None:
    lock = hf.lock("l")
    lease = lock.acquire()
    site.client.delete(f"{site.namespace}:{{lock:l}}:state")
    with pytest.raises(LeaseLost, match="lock 'l' was lost under fence"):
        use(lease)


def test_renewing_by_hand(hf: Holdfast, site: Site) -> None:
    lock = hf.lock("l", lease=4.0, auto_renew=False)
    lease = lock.acquire()
    eventually(lambda: lease.remaining < 2.5)
    left_s = lease.remaining
    lease.renew()
    assert left_s < lease.remaining <= 4
    assert lease.wait_lost(30)
    assert lease.remaining == 0
    with pytest.raises(LeaseLost):
        lease.renew()
    with hf.lock("l", lease=60.0).hold(timeout=30) as successor:
        with pytest.raises(LeaseLost, match=successor.holder) as caught:
            lease.release()
        assert caught.value.lost_at is not None
        assert caught.value.taken_by == successor.holder
        assert (lock.inspect()).holder == successor.holder


def test_max_hold_ends_a_renewed_lease(hf: Holdfast) -> None:
    def is_renewed() -> bool:
        """Return whether it was renewed; a busy machine may be too late for so short a lease."""
        began = time.monotonic()
        lease = hf.lock("l", lease=1.0, max_hold=1.8).acquire()
        assert lease.wait_lost(30)
        lasted_s = time.monotonic() - began
        with hf.lock("l").hold(timeout=30):
            pass
        with pytest.raises(LeaseLost):
            lease.release()
        return lasted_s >= 1.4

    eventually(is_renewed)


def test_a_fenced_value_refuses_an_older_fence(hf: Holdfast) -> None:
    """The same fence may write again, an older one may not."""
    stock = hf.fenced("stock:42")
    assert stock.get() is None
    with hf.lock("stock:42").hold() as first:
        pass
    with hf.lock("stock:42").hold() as second:
        stock.set({"left": 3}, second.fence)
        stock.set({"left": 2}, second.fence)
    with pytest.raises(StaleFence, match="fenced 'stock:42' was not changed") as caught:
        stock.set({"left": 9}, first.fence)
    assert (caught.value.fence, caught.value.stored) == (first.fence, second.fence)
    assert stock.get() == {"left": 2}


def test_a_repeated_fenced_write_counts_once(hf: Holdfast) -> None:
    stock = hf.fenced("stock")
    stock.set(1, 5, op_id="first")
    stock.set(2, 6)
    stock.set(1, 5, op_id="first")
    assert stock.get() == 2


@pytest.mark.parametrize("lease", [float("nan"), -1, 0, 0.999, float("inf"), 86_401])
def test_a_wrong_lease_is_refused(hf: Holdfast, lease: float) -> None:
    for make in (hf.lock, hf.semaphore):
        with pytest.raises(ValueError, match="lease"):
            make("x", lease=lease)


@pytest.mark.parametrize("timeout", [float("nan"), -1, -0.001])
def test_a_wrong_timeout_is_refused(hf: Holdfast, timeout: float) -> None:
    with pytest.raises(ValueError, match="timeout"):
        hf.lock("x").acquire(timeout=timeout)
    with pytest.raises(ValueError, match="timeout"):
        take_all(hf, ["x"], timeout)


def test_other_wrong_arguments_are_refused(hf: Holdfast) -> None:
    for limit in (0, -1, 1_000_001):
        with pytest.raises(ValueError, match="limit"):
            hf.semaphore("x", limit=limit)
    with pytest.raises(TypeError, match="limit"):
        hf.semaphore("x", limit=True)
    for not_a_limit in (None, 2.0, "2"):
        with pytest.raises(TypeError, match="limit"):
            hf.semaphore("x", limit=1).redefine(limit=not_a_limit)
    with pytest.raises(ValueError, match="max_hold"):
        hf.lock("x", max_hold=0.5)
    with pytest.raises(TypeError, match="several names"):
        hf.lock_all("abc")
    for fence in (0, -1, 2**53):
        with pytest.raises(ValueError, match="fence"):
            hf.fenced("x").set(1, fence)
    with pytest.raises(TypeError, match="cannot be stored"):
        hf.fenced("x").set(float("nan"), 1)


def test_the_limit_is_kept_as_long_as_there_is_a_holder(hf: Holdfast, site: Site) -> None:
    state = f"{site.namespace}:{{semaphore:api}}:state"
    kept_ms = 6 * 86_400_000
    with hf.semaphore("api", limit=2, lease=4.5).hold() as lease:
        site.client.pexpire(state, 60_000)
        eventually(lambda: site.client.pttl(state) > kept_ms)
        site.client.pexpire(state, 60_000)
        lease.renew()
        assert site.client.pttl(state) > kept_ms


def test_every_key_that_can_be_abandoned_expires(hf: Holdfast, site: Site) -> None:
    name = secrets.token_hex(4)
    lease = hf.lock(name).acquire()
    semaphore = hf.semaphore(name, limit=1).acquire()
    for busy in (hf.lock(name), hf.semaphore(name)):
        with pytest.raises(LockTimeout):
            busy.acquire(timeout=0.1)
    hf.semaphore(name).redefine(limit=2)
    hf.fenced(name).set(1, lease.fence)
    found = list(site.client.scan_iter(match=f"{site.namespace}:*"))
    assert found
    assert {key.decode() for key in found if site.client.pttl(key) < 0} == {
        f"{site.namespace}:{{fenced:{name}}}:fenced",
        f"{site.namespace}:{{layout:%}}:version",
    }
    lease.release()
    semaphore.release()
