"""Locks, semaphores and fenced values in one client."""

import secrets
import time
from datetime import timedelta

import pytest

from conftest import Site
from faults.waiting import eventually_async
from holdfast import (
    AsyncHoldfast,
    AsyncLease,
    DefinitionConflict,
    LeaseLost,
    LockTimeout,
    NotDefined,
    StaleFence,
)


async def test_one_client_holds_the_lock_and_others_learn_its_name(hf: AsyncHoldfast) -> None:
    lock = hf.lock("market:item:42", lease=60.0)
    async with lock.hold(timeout=30) as lease:
        assert 20.0 < lease.remaining <= 60.0
        assert not lease.lost
        state = await lock.inspect()
        assert (state.holder, state.fence, state.waiters) == (lease.holder, lease.fence, ())
        assert 20.0 < state.remaining <= 60.0
        assert await lock.try_acquire() is None
        with pytest.raises(LockTimeout, match="lock 'market:item:42' was not free") as caught:
            await lock.acquire(timeout=0)
        assert caught.value.holder == lease.holder
    assert lease.remaining == 0
    assert not lease.lost
    state = await lock.inspect()
    assert (state.holder, state.fence, state.remaining) == (None, None, 0)


async def test_lock_timeout_is_a_timeout_error_with_the_time_waited(hf: AsyncHoldfast) -> None:
    lock = hf.lock("l")
    async with lock.hold():
        with pytest.raises(TimeoutError) as caught:
            await lock.acquire(timeout=timedelta(seconds=0.2))
        assert isinstance(caught.value, LockTimeout)
        assert caught.value.waited >= 0.2
        assert (await lock.inspect()).waiters == ()


async def test_fences_rise(hf: AsyncHoldfast) -> None:
    fences = []
    for _ in range(20):
        async with hf.lock("l").hold() as lease:
            fences.append(lease.fence)
    assert fences == sorted(set(fences))
    semaphore = hf.semaphore("s", limit=3)
    leases = [await semaphore.acquire() for _ in range(3)]
    assert [lease.fence for lease in leases] == sorted({lease.fence for lease in leases})
    for lease in leases:
        await lease.release()


async def test_fences_rise_when_the_server_forgot_everything(hf: AsyncHoldfast, site: Site) -> None:
    async with hf.lock("l").hold() as lease:
        fence = lease.fence
    for key in site.client.scan_iter(match=f"{site.namespace}:*"):
        site.client.delete(key)
    async with hf.lock("l").hold() as lease:
        assert lease.fence > fence


async def test_a_lease_is_released_once(hf: AsyncHoldfast) -> None:
    lock = hf.lock("l")
    first = await lock.acquire()
    await first.release()
    second = await lock.acquire()
    await first.release()
    assert (await lock.inspect()).holder == second.holder
    with pytest.raises(LeaseLost, match="released"):
        await first.renew()
    await second.release()


async def test_a_semaphore_has_as_many_permits_as_its_limit(hf: AsyncHoldfast) -> None:
    semaphore = hf.semaphore("api", limit=2, lease=60.0)
    one, two = await semaphore.acquire(), await semaphore.acquire()
    assert await semaphore.try_acquire() is None
    state = await semaphore.inspect()
    assert state.limit == 2
    assert {holder.name for holder in state.holders} == {one.holder, two.holder}
    assert all(20 < holder.remaining <= 60 for holder in state.holders)
    await one.release()
    three = await semaphore.acquire(timeout=30)
    await two.release()
    await three.release()


async def test_the_server_keeps_the_limit(hf: AsyncHoldfast) -> None:
    with pytest.raises(NotDefined, match="the limit of semaphore 'api'"):
        await hf.semaphore("api").acquire()
    async with hf.semaphore("api", limit=2).hold():
        pass
    async with hf.semaphore("api").hold(), hf.semaphore("api").hold():
        assert await hf.semaphore("api").try_acquire() is None
    with pytest.raises(DefinitionConflict, match="is 2, not 3") as caught:
        await hf.semaphore("api", limit=3, on_conflict="error").acquire()
    assert (caught.value.stored, caught.value.given) == (2, 3)


async def test_the_object_that_redefines_uses_the_new_limit(hf: AsyncHoldfast) -> None:
    semaphore = hf.semaphore("api", limit=1, on_conflict="error")
    other = hf.semaphore("api", limit=1, on_conflict="error")
    async with semaphore.hold(timeout=0):
        await semaphore.redefine(limit=2)
        async with semaphore.hold(timeout=0):
            assert await semaphore.try_acquire() is None
        with pytest.raises(DefinitionConflict, match="is 2, not 1"):
            await other.try_acquire()


async def test_a_smaller_limit_takes_no_permit_away(hf: AsyncHoldfast) -> None:
    semaphore = hf.semaphore("api", limit=3)
    leases = [await semaphore.acquire() for _ in range(3)]
    await semaphore.redefine(limit=1)
    taker = hf.semaphore("api")
    for lease in leases:
        assert not lease.lost
        assert await taker.try_acquire() is None
        await lease.release()
    async with taker.hold(timeout=0):
        assert await taker.try_acquire() is None
    assert (await taker.inspect()).limit == 1


async def test_a_lock_is_not_the_semaphore_of_the_same_name(hf: AsyncHoldfast) -> None:
    async with hf.lock("x").hold(timeout=0), hf.semaphore("x", limit=1).hold(timeout=0):
        pass


async def take_all(hf: AsyncHoldfast, names: list[str], timeout: float = 0.2) -> None:
    """Hold all locks for a moment."""
    async with hf.lock_all(names).hold(timeout=timeout):
        pass


async def test_all_locks_are_held_or_none(hf: AsyncHoldfast) -> None:
    async with hf.lock_all(["b", "a", "b"]).hold(timeout=30) as leases:
        assert list(leases) == ["a", "b"]
        assert (await hf.lock("a").inspect()).holder == leases["a"].holder
    async with hf.lock("b").hold():
        with pytest.raises(LockTimeout, match="lock 'b'"):
            await take_all(hf, ["a", "b", "c"])
        assert (await hf.lock("a").inspect()).holder is None
        assert (await hf.lock("c").inspect()).holder is None


async def use(lease: AsyncLease, error: Exception | None = None) -> None:
    """Use *lease* in a block that may raise *error*."""
    async with lease:
        if error is not None:
            raise error


async def test_an_error_of_the_body_is_not_hidden(hf: AsyncHoldfast, site: Site) -> None:
    lock = hf.lock("l")
    with pytest.raises(KeyError):
        async with lock.hold():
            raise KeyError("mine")
    async with lock.hold(timeout=0):
        pass
    lease = await lock.acquire()
    site.client.delete(f"{site.namespace}:{{lock:l}}:state")
    with pytest.raises(KeyError):
        await use(lease, KeyError("mine"))


async def test_a_permit_that_the_server_forgot_is_lost(hf: AsyncHoldfast, site: Site) -> None:
    lock = hf.lock("l")
    lease = await lock.acquire()
    site.client.delete(f"{site.namespace}:{{lock:l}}:state")
    with pytest.raises(LeaseLost, match="lock 'l' was lost under fence"):
        await use(lease)


async def test_renewing_by_hand(hf: AsyncHoldfast, site: Site) -> None:
    lock = hf.lock("l", lease=4.0, auto_renew=False)
    lease = await lock.acquire()
    await eventually_async(lambda: lease.remaining < 2.5)
    left_s = lease.remaining
    await lease.renew()
    assert left_s < lease.remaining <= 4
    assert await lease.wait_lost(30)
    assert lease.remaining == 0
    with pytest.raises(LeaseLost):
        await lease.renew()
    async with hf.lock("l", lease=60.0).hold(timeout=30) as successor:
        with pytest.raises(LeaseLost, match=successor.holder) as caught:
            await lease.release()
        assert caught.value.lost_at is not None
        assert caught.value.taken_by == successor.holder
        assert (await lock.inspect()).holder == successor.holder


async def test_max_hold_ends_a_renewed_lease(hf: AsyncHoldfast) -> None:
    async def is_renewed() -> bool:
        """Return whether it was renewed; a busy machine may be too late for so short a lease."""
        began = time.monotonic()
        lease = await hf.lock("l", lease=1.0, max_hold=1.8).acquire()
        assert await lease.wait_lost(30)
        lasted_s = time.monotonic() - began
        async with hf.lock("l").hold(timeout=30):
            pass
        with pytest.raises(LeaseLost):
            await lease.release()
        return lasted_s >= 1.4

    await eventually_async(is_renewed)


async def test_a_fenced_value_refuses_an_older_fence(hf: AsyncHoldfast) -> None:
    """The same fence may write again, an older one may not."""
    stock = hf.fenced("stock:42")
    assert await stock.get() is None
    async with hf.lock("stock:42").hold() as first:
        pass
    async with hf.lock("stock:42").hold() as second:
        await stock.set({"left": 3}, second.fence)
        await stock.set({"left": 2}, second.fence)
    with pytest.raises(StaleFence, match="fenced 'stock:42' was not changed") as caught:
        await stock.set({"left": 9}, first.fence)
    assert (caught.value.fence, caught.value.stored) == (first.fence, second.fence)
    assert await stock.get() == {"left": 2}


async def test_a_repeated_fenced_write_counts_once(hf: AsyncHoldfast) -> None:
    stock = hf.fenced("stock")
    await stock.set(1, 5, op_id="first")
    await stock.set(2, 6)
    await stock.set(1, 5, op_id="first")
    assert await stock.get() == 2


@pytest.mark.parametrize("lease", [float("nan"), -1, 0, 0.999, float("inf"), 86_401])
async def test_a_wrong_lease_is_refused(hf: AsyncHoldfast, lease: float) -> None:
    for make in (hf.lock, hf.semaphore):
        with pytest.raises(ValueError, match="lease"):
            make("x", lease=lease)


@pytest.mark.parametrize("timeout", [float("nan"), -1, -0.001])
async def test_a_wrong_timeout_is_refused(hf: AsyncHoldfast, timeout: float) -> None:
    with pytest.raises(ValueError, match="timeout"):
        await hf.lock("x").acquire(timeout=timeout)
    with pytest.raises(ValueError, match="timeout"):
        await take_all(hf, ["x"], timeout)


async def test_other_wrong_arguments_are_refused(hf: AsyncHoldfast) -> None:
    for limit in (0, -1, 1_000_001):
        with pytest.raises(ValueError, match="limit"):
            hf.semaphore("x", limit=limit)
    with pytest.raises(TypeError, match="limit"):
        hf.semaphore("x", limit=True)
    for not_a_limit in (None, 2.0, "2"):
        with pytest.raises(TypeError, match="limit"):
            await hf.semaphore("x", limit=1).redefine(limit=not_a_limit)
    with pytest.raises(ValueError, match="max_hold"):
        hf.lock("x", max_hold=0.5)
    with pytest.raises(TypeError, match="several names"):
        hf.lock_all("abc")
    for fence in (0, -1, 2**53):
        with pytest.raises(ValueError, match="fence"):
            await hf.fenced("x").set(1, fence)
    with pytest.raises(TypeError, match="cannot be stored"):
        await hf.fenced("x").set(float("nan"), 1)


async def test_the_limit_is_kept_as_long_as_there_is_a_holder(
    hf: AsyncHoldfast, site: Site
) -> None:
    state = f"{site.namespace}:{{semaphore:api}}:state"
    kept_ms = 6 * 86_400_000
    async with hf.semaphore("api", limit=2, lease=4.5).hold() as lease:
        site.client.pexpire(state, 60_000)
        await eventually_async(lambda: site.client.pttl(state) > kept_ms)
        site.client.pexpire(state, 60_000)
        await lease.renew()
        assert site.client.pttl(state) > kept_ms


async def test_every_key_that_can_be_abandoned_expires(hf: AsyncHoldfast, site: Site) -> None:
    name = secrets.token_hex(4)
    lease = await hf.lock(name).acquire()
    semaphore = await hf.semaphore(name, limit=1).acquire()
    for busy in (hf.lock(name), hf.semaphore(name)):
        with pytest.raises(LockTimeout):
            await busy.acquire(timeout=0.1)
    await hf.semaphore(name).redefine(limit=2)
    await hf.fenced(name).set(1, lease.fence)
    found = list(site.client.scan_iter(match=f"{site.namespace}:*"))
    assert found
    assert {key.decode() for key in found if site.client.pttl(key) < 0} == {
        f"{site.namespace}:{{fenced:{name}}}:fenced",
        f"{site.namespace}:{{layout:%}}:version",
    }
    await lease.release()
    await semaphore.release()
