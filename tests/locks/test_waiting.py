"""Waiting for permits: order, notifications, claims, and cost."""

import asyncio
import secrets
import time
from collections.abc import AsyncIterator
from contextlib import suppress

import pytest

from conftest import Site
from faults.proxy import Proxy
from faults.servers import Server
from faults.waiting import eventually_async
from holdfast import AsyncHoldfast, AsyncLock, AsyncSemaphore, DefinitionConflict, LeaseLost
from holdfast.locks import waiters


@pytest.fixture
async def other(site: Site) -> AsyncIterator[AsyncHoldfast]:
    async with AsyncHoldfast.from_url(site.url, namespace=site.namespace) as hf:
        yield hf


async def waiting(held: AsyncLock | AsyncSemaphore, count: int) -> bool:
    return len((await held.inspect()).waiters) == count


async def test_first_come_first_served(hf: AsyncHoldfast, other: AsyncHoldfast) -> None:
    lock = hf.lock("l")

    async def are_served_in_order() -> bool:
        """Return whether they were; on a busy machine a successor may be too late to confirm."""
        served: list[int] = []

        async def wait(n: int) -> None:
            with suppress(LeaseLost):
                async with (hf, other)[n % 2].lock("l").hold():
                    served.append(n)

        async with lock.hold():
            tasks = []
            for n in range(12):
                tasks.append(asyncio.create_task(wait(n)))
                await eventually_async(lambda n=n: waiting(lock, n + 1))
            state = await lock.inspect()
            assert len(set(state.waiters)) == 12
        await asyncio.gather(*tasks)
        return served == list(range(12))

    await eventually_async(are_served_in_order)


async def test_a_new_client_never_overtakes_a_waiter(
    hf: AsyncHoldfast, other: AsyncHoldfast
) -> None:
    semaphore = hf.semaphore("s", limit=2)
    leases = [await semaphore.acquire(), await semaphore.acquire()]
    tasks = [asyncio.create_task(other.semaphore("s").acquire()) for _ in range(3)]
    await eventually_async(lambda: waiting(semaphore, 3))
    await semaphore.redefine(limit=1)
    await leases.pop().release()
    assert await semaphore_of(hf).try_acquire() is None
    await semaphore_of(hf).redefine(limit=2)
    assert await semaphore_of(hf).try_acquire() is None
    await leases.pop().release()
    for task in tasks:
        await (await task).release()


def semaphore_of(hf: AsyncHoldfast) -> AsyncSemaphore:
    return hf.semaphore("s")


async def test_a_larger_limit_grants_permits_to_waiters(
    hf: AsyncHoldfast, other: AsyncHoldfast
) -> None:
    semaphore = hf.semaphore("s", limit=1)
    async with semaphore.hold():
        tasks = [asyncio.create_task(other.semaphore("s").acquire()) for _ in range(5)]
        await eventually_async(lambda: waiting(semaphore, 5))
        await semaphore.redefine(limit=4)
        await eventually_async(lambda: sum(task.done() for task in tasks) == 3)
        assert await waiting(semaphore, 2)
    for task in asyncio.as_completed(tasks):
        await (await task).release()


async def test_a_waiter_with_the_old_limit_gets_a_conflict(
    hf: AsyncHoldfast, other: AsyncHoldfast
) -> None:
    leases = [
        await hf.semaphore("s", limit=2).acquire(),
        await hf.semaphore("s", lease=4.0, auto_renew=False).acquire(),
    ]
    strict = other.semaphore("s", limit=2, on_conflict="error")
    old = asyncio.create_task(strict.acquire(timeout=30))
    await eventually_async(lambda: waiting(hf.semaphore("s"), 1))
    new = asyncio.create_task(other.semaphore("s").acquire(timeout=30))
    await eventually_async(lambda: waiting(hf.semaphore("s"), 2))
    await hf.semaphore("s").redefine(limit=1)
    with pytest.raises(DefinitionConflict, match="is 1, not 2"):
        await old
    await leases[0].release()
    await (await new).release()
    with pytest.raises(LeaseLost):
        await leases[1].release()


async def test_an_update_of_the_limit_grants_permits_to_waiters(
    hf: AsyncHoldfast, other: AsyncHoldfast
) -> None:
    first = await hf.semaphore("s", limit=1).acquire()
    waiter = asyncio.create_task(other.semaphore("s").acquire(timeout=30))
    await eventually_async(lambda: waiting(hf.semaphore("s"), 1))
    updating = hf.semaphore("s", limit=3, on_conflict="update")
    third = await updating.acquire(timeout=30)
    second = await waiter
    assert await updating.try_acquire() is None
    for lease in (first, second, third):
        await lease.release()


async def test_a_much_larger_limit_grants_permits_to_all_waiters(
    hf: AsyncHoldfast, other: AsyncHoldfast
) -> None:
    semaphore = hf.semaphore("s", limit=1)
    async with semaphore.hold():
        tasks = [asyncio.create_task(other.semaphore("s").acquire()) for _ in range(200)]
        await eventually_async(lambda: waiting(semaphore, 200))
        await semaphore.redefine(limit=300)
        leases = await asyncio.wait_for(asyncio.gather(*tasks), 60)
    for lease in leases:
        with suppress(LeaseLost):  # on a busy machine a claim may end before the waiter confirms
            await lease.release()


async def test_a_successor_keeps_its_permit(hf: AsyncHoldfast, other: AsyncHoldfast) -> None:
    """The successor starts at once; the renewer turns its claim into a whole lease."""

    async def is_kept() -> bool:
        """Return whether it was kept; on a busy machine its claim may end before it confirms."""
        async with hf.lock("l").hold():
            task = asyncio.create_task(other.lock("l", lease=60.0).acquire())
            await eventually_async(lambda: waiting(hf.lock("l"), 1))
        lease = await task
        assert lease.remaining <= 60
        await eventually_async(lambda: lease.lost or lease.remaining > 2)  # more than a claim
        if lease.lost:
            return False
        assert (await hf.lock("l").inspect()).remaining > 3
        await lease.release()
        return True

    await eventually_async(is_kept)


async def test_a_successor_with_a_short_claim_keeps_its_lease(
    standalone: Server, proxy: Proxy
) -> None:
    """It confirms the grant itself, as the renewer might be too late."""
    namespace = f"short-{secrets.token_hex(4)}"
    state = f"{namespace}:{{lock:l}}:state"
    kept = 0
    async with (
        AsyncHoldfast.from_url(standalone.url, namespace=namespace) as near,
        AsyncHoldfast.from_url(proxy.url, namespace=namespace) as far,
        far.lock("other").hold(),  # so its renewer is running
    ):
        for _ in range(6):
            async with near.lock("l").hold():
                task = asyncio.create_task(far.lock("l").acquire())
                await eventually_async(lambda: waiting(near.lock("l"), 1))
                standalone.execute(
                    "HSET", state, "unconfirmed", 1, "unconfirmed_ms", round(time.time() * 1000)
                )
                proxy.delay(0.3, "requests")
            lease = await task
            if not await lease.wait_lost(0.8):
                kept += 1
                proxy.heal()
                await lease.release()
            proxy.heal()
    assert kept > 3, "a busy machine would lose fewer"


async def test_a_successor_without_renewal_gets_a_whole_lease(
    hf: AsyncHoldfast, other: AsyncHoldfast
) -> None:
    async def is_whole() -> bool:
        """Return whether it got a whole lease; on a busy machine its claim may end before."""
        async with hf.lock("l").hold():
            task = asyncio.create_task(other.lock("l", lease=3.0, auto_renew=False).acquire())
            await eventually_async(lambda: waiting(hf.lock("l"), 1))
            began = time.monotonic()
        lease = await task
        assert await lease.wait_lost(30)
        lasted_s = time.monotonic() - began
        async with hf.lock("l").hold(timeout=30):
            pass
        with pytest.raises(LeaseLost):
            await lease.release()
        return lasted_s > 2.2

    await eventually_async(is_whole)


async def test_lock_all_in_two_orders_does_not_deadlock(
    hf: AsyncHoldfast, other: AsyncHoldfast
) -> None:
    async def both(client: AsyncHoldfast, *names: str) -> None:
        for _ in range(20):
            with suppress(LeaseLost):  # a busy machine may confirm too late
                async with client.lock_all(names).hold():
                    await asyncio.sleep(0)

    await asyncio.wait_for(asyncio.gather(both(hf, "a", "b"), both(other, "b", "a")), 60)


async def test_idle_subscriptions_are_closed(
    hf: AsyncHoldfast, other: AsyncHoldfast, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(waiters, "IDLE_SUBSCRIPTIONS", 3)
    for n in range(8):
        lease = await hf.lock(f"l{n}").acquire()
        task = asyncio.create_task(other.lock(f"l{n}").acquire())
        await eventually_async(lambda n=n: waiting(hf.lock(f"l{n}"), 1))
        await lease.release()
        await (await task).release()
    open_prefixes = [*other._resources.waiters._units._subscriptions]
    assert [prefix.partition("{lock:")[2] for prefix in open_prefixes] == ["l5}:", "l6}:", "l7}:"]


async def test_an_idle_waiter_costs_at_most_two_commands_a_second(standalone: Server) -> None:
    """The server counts them, with those inside scripts; the holder does not renew meanwhile."""
    namespace = f"idle-{secrets.token_hex(4)}"
    async with (
        AsyncHoldfast.from_url(standalone.url, namespace=namespace) as holder,
        AsyncHoldfast.from_url(standalone.url, namespace=namespace) as hf,
    ):
        lease = await holder.lock("l", lease=60.0).acquire()
        task = asyncio.create_task(hf.lock("l", lease=10.0).acquire())
        await eventually_async(lambda: waiting(holder.lock("l"), 1))
        await asyncio.sleep(1.0)
        before, began = commands(standalone), time.monotonic()
        await asyncio.sleep(8)
        spent = commands(standalone) - before
        took_s = time.monotonic() - began
        await lease.release()
        await (await task).release()
    assert spent <= 2 * took_s


def commands(server: Server) -> int:
    """Return how many commands the server has run, without this one."""
    return int(server.execute("INFO", "stats")["total_commands_processed"]) - 1


async def test_a_release_wakes_one_waiter(standalone: Server) -> None:
    namespace = f"herd-{secrets.token_hex(4)}"
    async with (
        AsyncHoldfast.from_url(standalone.url, namespace=namespace) as holder,
        AsyncHoldfast.from_url(standalone.url, namespace=namespace) as hf,
    ):

        async def is_one_woken() -> bool:
            """Return whether one is; on a busy machine others may ask when a claim has ended."""
            lease = await holder.lock("l", lease=600.0).acquire()
            tasks = [asyncio.create_task(hf.lock("l").acquire()) for _ in range(50)]
            await eventually_async(lambda: waiting(holder.lock("l"), 50))
            before = scripts(standalone)
            await lease.release()
            done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            called = scripts(standalone) - before
            for task in asyncio.as_completed(tasks):
                with suppress(LeaseLost):
                    await (await task).release()
            return called <= 3 and len(done) == 1

        await eventually_async(is_one_woken)


def scripts(server: Server) -> int:
    """Return how many scripts were called."""
    return int(server.execute("INFO", "commandstats")["cmdstat_evalsha"]["calls"])


async def test_a_slow_client_is_served_although_claims_are_short(
    standalone: Server, proxy: Proxy
) -> None:
    namespace = f"far-{secrets.token_hex(4)}"
    async with (
        AsyncHoldfast.from_url(standalone.url, namespace=namespace) as near,
        AsyncHoldfast.from_url(standalone.url, namespace=namespace) as near_too,
        AsyncHoldfast.from_url(proxy.url, namespace=namespace) as far,
    ):
        state = f"{namespace}:{{lock:l}}:state"
        proxy.delay(0.03)
        served = asyncio.Event()

        async def hold(hf: AsyncHoldfast) -> None:
            while not served.is_set():
                with suppress(LeaseLost):  # a busy machine may confirm too late
                    async with hf.lock("l").hold():
                        await asyncio.sleep(0.005)

        async with near.lock("l").hold():
            standalone.execute(
                "HSET", state, "unconfirmed", 6, "unconfirmed_ms", round(time.time() * 1000)
            )
            others = [asyncio.create_task(hold(hf)) for hf in (near, near_too) * 2]
            await eventually_async(lambda: waiting(near.lock("l"), 4))
        try:
            async with asyncio.timeout(90):
                for _ in range(20):
                    with suppress(LeaseLost):
                        async with far.lock("l").hold():
                            pass
        finally:
            served.set()
            await asyncio.gather(*others)
