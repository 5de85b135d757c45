"""Reservations that coroutines make at the same time share calls, and stay independent."""

import asyncio
import secrets
from collections.abc import AsyncIterator, Iterator

import pytest

from faults.clusters import Cluster
from faults.monitor import watching
from faults.proxy import Proxy
from faults.replicas import ReplicatedServer
from faults.servers import Server
from holdfast import AsyncHoldfast, AsyncRateLimiter, Holdfast, Limit, Replicated
from holdfast.core.names import Namespace
from holdfast.errors import DecodeError, OutcomeUnknown, RateLimited, ServerUnavailable
from holdfast.limits import keys
from holdfast.limits._async.reservations import MAX_CHARGES, MAX_RESERVATIONS, RESERVE_MANY
from holdfast.limits.definition import subject_unit

MANY = 120
LIMIT = Limit(1000, per=600.0)


@pytest.fixture
def direct(standalone: Server) -> Iterator[Holdfast]:
    """Return a client that does not use the proxy, and has loaded the scripts."""
    with Holdfast.from_url(standalone.url, namespace=f"batches-{secrets.token_hex(4)}") as hf:
        hf.rate_limit("warm", LIMIT).acquire()
        with standalone.client() as client:
            client.script_load(RESERVE_MANY.source)
        yield hf


@pytest.fixture
async def proxied(direct: Holdfast, proxy: Proxy) -> AsyncIterator[AsyncRateLimiter]:
    """Return a limiter of a client that is connected through the proxy."""
    async with AsyncHoldfast.from_url(proxy.url, namespace=direct.namespace) as hf:
        limiter = hf.rate_limit("api", LIMIT)
        await limiter.of("warm").acquire()
        yield limiter


def remaining(hf: Holdfast, subject: str = "") -> int:
    return hf.rate_limit("api", LIMIT).of(subject).peek().remaining["requests"]


async def test_reservations_take_a_few_calls(proxied: AsyncRateLimiter, proxy: Proxy) -> None:
    """The first is sent alone, the others in batches, whatever their subjects and costs."""
    before = proxy.commands["EVALSHA"]
    asked = [proxied.of(f"user:{n % 7}").try_acquire(1 + n % 3) for n in range(MANY)]
    assert all(await asyncio.gather(*asked))
    assert proxy.commands["EVALSHA"] - before == 1 + -(-(MANY - 1) // MAX_RESERVATIONS)


async def test_a_batch_waits_for_the_replica() -> None:
    with ReplicatedServer(1) as replicated:
        durability = Replicated(1, timeout=30.0)
        async with AsyncHoldfast.from_url(
            replicated.url, namespace=secrets.token_hex(4), durability=durability
        ) as hf:
            limiter = hf.rate_limit("api", LIMIT)
            with watching(replicated.primary) as watch:
                assert all(await asyncio.gather(*[limiter.try_acquire() for _ in range(MANY)]))
    calls = watch.after(RESERVE_MANY.sha1)
    assert calls
    assert all("WAIT" in later for later in calls)


async def test_many_limits_bound_a_batch(direct: Holdfast, proxy: Proxy) -> None:
    limits = [Limit(1000, per=float(n)) for n in range(60, 68)]
    async with AsyncHoldfast.from_url(proxy.url, namespace=direct.namespace) as hf:
        limiter = hf.rate_limit("api", *limits)
        await limiter.acquire()
        before = proxy.commands["EVALSHA"]
        await asyncio.gather(*[limiter.try_acquire() for _ in range(33)])
        assert proxy.commands["EVALSHA"] - before == 1 + 32 // (MAX_CHARGES // len(limits))


async def test_each_decision_is_its_own(hf: AsyncHoldfast) -> None:
    """Each subject passes exactly its limit; the others are refused, and not charged."""
    limiter = hf.rate_limit("api", Limit(5, per=600.0))
    subjects = [f"user:{n}" for n in range(8)]
    asked = [(subject, limiter.of(subject)) for _ in range(9) for subject in subjects]
    decisions = await asyncio.gather(*[each.try_acquire() for _, each in asked])
    for subject in subjects:
        own = [one for (name, _), one in zip(asked, decisions, strict=True) if name == subject]
        assert [one.allowed for one in own] == [True] * 5 + [False] * 4
        assert [one.remaining["requests"] for one in own] == [4, 3, 2, 1, 0, 0, 0, 0, 0]


async def test_waiters_get_instants_in_the_order_of_their_calls(hf: AsyncHoldfast) -> None:
    """Their costs and timeouts differ. A wait beyond a timeout is not charged."""
    limiter = hf.rate_limit("api", Limit(2, per=0.2))
    timeouts = [0.0 if n % 4 == 3 else None for n in range(12)]
    waits = await asyncio.gather(
        *[limiter.acquire(1 + n % 2, timeout=timeout) for n, timeout in enumerate(timeouts)],
        return_exceptions=True,
    )
    refused = [n for n, each in enumerate(waits) if isinstance(each, RateLimited)]
    assert refused == [3, 7, 11]
    waited = [each.waited for each in waits if not isinstance(each, BaseException)]
    assert len(waited) == 9
    assert waited == sorted(waited)


@pytest.mark.parametrize("damage", ["bytes", "type"])
async def test_a_damaged_subject_fails_alone(
    standalone: Server, direct: Holdfast, damage: str
) -> None:
    unit = subject_unit(Namespace.of(direct.namespace), "api", "user:4")
    async with AsyncHoldfast.from_url(standalone.url, namespace=direct.namespace) as hf:
        limiter = hf.rate_limit("api", LIMIT)
        asked = [limiter.of(f"user:{n}") for n in range(10)]
        await asyncio.gather(*[each.acquire() for each in asked])
        with standalone.client() as client:
            client.delete(keys.log(unit))
            if damage == "bytes":
                client.set(keys.log(unit), b"x" * 50)
            else:
                client.rpush(keys.log(unit), "x")
        found = await asyncio.gather(
            *[each.try_acquire() for each in asked], return_exceptions=True
        )
    broken = found.pop(4)
    assert isinstance(broken, DecodeError)
    assert "api/user:4" in str(broken)
    for one in found:
        assert not isinstance(one, BaseException)
        assert one.remaining["requests"] == 998


@pytest.mark.parametrize("loss", ["drop_reply", "drop_request"])
async def test_a_lost_batch_is_charged_once(
    proxied: AsyncRateLimiter, proxy: Proxy, direct: Holdfast, loss: str
) -> None:
    fault = getattr(proxy, loss)(match=RESERVE_MANY.sha1.encode())
    subjects = [f"user:{n % 5}" for n in range(40)]
    decisions = await asyncio.gather(*[proxied.of(each).try_acquire() for each in subjects])
    assert fault.fired == 1
    assert all(decisions)
    assert [remaining(direct, f"user:{n}") for n in range(5)] == [992] * 5


async def test_an_error_names_the_own_subject(direct: Holdfast, proxy: Proxy) -> None:
    url = f"{proxy.url}?socket_timeout=1"
    async with AsyncHoldfast.from_url(url, namespace=direct.namespace) as hf:
        limiter = hf.rate_limit("api", LIMIT)
        await limiter.acquire()
        proxy.refuse()
        found = await asyncio.gather(
            *[limiter.of(f"user:{n}").try_acquire() for n in range(9)], return_exceptions=True
        )
    for n, each in enumerate(found):
        assert isinstance(each, ServerUnavailable | OutcomeUnknown)
        assert f"api/user:{n}'" in str(each)


@pytest.mark.parametrize("turns", range(5))
async def test_cancelled_callers_cost_nothing(
    proxied: AsyncRateLimiter, direct: Holdfast, turns: int
) -> None:
    """Before their batch is sent, or meanwhile. The others get their own answers."""
    tasks = [asyncio.create_task(proxied.try_acquire()) for _ in range(30)]
    for _ in range(turns):
        await asyncio.sleep(0)
    for task in tasks[::2]:
        task.cancel()
    found = await asyncio.gather(*tasks, return_exceptions=True)
    kept = [each for each in found[1::2] if not isinstance(each, BaseException)]
    assert len({one.remaining["requests"] for one in kept}) == 15
    finished = sum(not isinstance(each, BaseException) for each in found)
    assert remaining(direct) == 1000 - finished


async def test_a_batch_that_comes_after_the_undoing_is_undone(
    direct: Holdfast, standalone: Server
) -> None:
    """Another call is in progress when the client is cancelled before it has found the server."""
    async with AsyncHoldfast.from_url(standalone.url, namespace=direct.namespace) as hf:
        limiter = hf.rate_limit("api", LIMIT)
        await limiter.acquire()
        caller = hf._resources.caller
        call, entered, proceed = caller.call, asyncio.Event(), asyncio.Event()

        async def late(script, *args, **kwargs):  # type: ignore[no-untyped-def]
            if script is RESERVE_MANY:
                entered.set()
                await proceed.wait()
            return await call(script, *args, **kwargs)

        caller.call = late  # type: ignore[method-assign]
        tasks = [asyncio.create_task(limiter.try_acquire()) for _ in range(3)]
        await entered.wait()
        tasks[2].cancel()
        await asyncio.wait([tasks[2]])
        proceed.set()
        assert await tasks[0]
        assert await tasks[1]
        for _ in range(500):
            if (await limiter.peek()).remaining["requests"] == 997:
                return
            await asyncio.sleep(0.01)
        pytest.fail("the reservation of the cancelled caller was not undone")


async def test_a_cluster_gets_batches_of_one_slot(cluster: Cluster) -> None:
    """Subjects of other slots are sent apart, and all get their answers."""
    name = f"batches-{secrets.token_hex(4)}"
    async with AsyncHoldfast.from_url(cluster.url, namespace=name) as hf:
        limiter = hf.rate_limit("api", LIMIT)
        subjects = [f"user:{n % 20}" for n in range(100)]
        decisions = await asyncio.gather(*[limiter.of(each).try_acquire() for each in subjects])
        assert all(decisions)
        left = [(await limiter.of(f"user:{n}").peek()).remaining["requests"] for n in range(20)]
        assert left == [995] * 20
