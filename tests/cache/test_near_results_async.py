"""Results of cached functions in the memory of the process (`near=`)."""

from collections.abc import AsyncIterator
from typing import Any

import pytest

from conftest import Site
from faults.waiting import eventually_async
from holdfast import AsyncHoldfast, Near, NearStats, acl_rule
from holdfast.cache._async.cached_function import AsyncCachedFunction
from holdfast.core.concurrency._async.primitives import sleep


@pytest.fixture(autouse=True)
def rights(site: Site) -> None:
    """Give the user of the test, if it has one, the rights for near caches."""
    if f"{site.namespace}:" in site.url:
        rule = acl_rule(site.namespace, near=True)
        site.client.execute_command(
            "ACL", "SETUSER", site.namespace, *rule.split(), "on", ">secret"
        )


@pytest.fixture
async def other(site: Site) -> AsyncIterator[AsyncHoldfast]:
    """Yield a client of another process, as far as Holdfast knows."""
    async with AsyncHoldfast.from_url(site.url, namespace=site.namespace) as client:
        yield client


class Prices:
    """A cached function, and what it returns."""

    def __init__(self, hf: AsyncHoldfast, **options: Any) -> None:
        self.prices: dict[int, Any] = {n: 100 * n for n in range(20)}
        self.calls = 0

        @hf.cached(ttl=60.0, name="price", near=True, **options)
        async def price(item: int) -> Any:
            self.calls += 1
            return self.prices[item]

        self.price = price

    @property
    def stats(self) -> NearStats:
        return self.price.near_stats()


async def hit(function: AsyncCachedFunction[Any, Any], *args: Any) -> Any:
    """Call a function until its result comes from memory, and return it."""

    async def from_memory() -> list[Any]:
        before = function.near_stats().hits
        result = await function(*args)
        return [result] if function.near_stats().hits > before else []

    return (await eventually_async(from_memory))[0]


async def test_a_result_is_served_from_memory(hf: AsyncHoldfast) -> None:
    prices = Prices(hf)
    assert await hit(prices.price, 3) == 300
    before = prices.stats
    assert before.confirmed
    for _ in range(10):
        assert await prices.price(3) == 300
    assert prices.stats.hits == before.hits + 10
    assert prices.stats.server_hits == before.server_hits
    assert prices.calls == prices.stats.loads == 1
    status = await prices.price.status()
    assert status is not None


async def test_another_process_invalidates(hf: AsyncHoldfast, other: AsyncHoldfast) -> None:
    prices = Prices(hf, tags=lambda item: [f"item:{item}", "all"])
    elsewhere = Prices(other, tags=lambda item: [f"item:{item}", "all"])
    for way in range(4):
        await hit(prices.price, 3)
        await hit(prices.price, 4)
        prices.prices = dict.fromkeys(range(20), way)
        if way == 0:
            await elsewhere.price.invalidate(3)
        elif way == 1:
            await other.invalidate_tags("item:3")
        elif way == 2:
            await other.invalidate_tags("all")
        else:
            await elsewhere.price.invalidate_all()

        async def seen(way: int = way) -> bool:
            return await prices.price(3) == way

        await eventually_async(seen)


async def test_ones_own_writes_are_seen_at_once(hf: AsyncHoldfast) -> None:
    prices = Prices(hf, tags=lambda item: [f"item:{item}", "all"])
    price = prices.price
    await price(3)
    for n in range(35):
        await hit(price, 3)
        prices.prices[3] = n
        if n % 7 == 0:
            await price.invalidate(3)
        elif n % 7 == 1:
            await price.invalidate_many([3, 4])
        elif n % 7 == 2:
            await price.invalidate_all()
        elif n % 7 == 3:
            await hf.invalidate_tags(f"item:{3}")
        elif n % 7 == 4:
            await hf.invalidate_tags("all", "others")
        elif n % 7 == 5:
            await hf.invalidate_cached("price")
        else:
            await hf.invalidate_cached("price", key=price.key(3).partition(":value:")[2])
        assert await price(3) == n
    prices.prices[3] = -1
    await hit(price, 3)
    await price.put(-2, 3)
    assert await price(3) == -2


async def test_one_tag_of_another_function(hf: AsyncHoldfast, other: AsyncHoldfast) -> None:
    """A tag is of all functions; its change removes only what depends on it."""
    prices = Prices(hf, tags=["shop"])

    @hf.cached(ttl=60.0, near=True, tags=lambda n: [f"n:{n}"])
    async def double(n: int) -> int:
        return 2 * n

    await hit(prices.price, 3)
    await hit(double, 3)
    await hit(double, 4)
    await other.invalidate_tags("shop", "n:4")
    prices.prices[3] = 1

    async def seen() -> bool:
        return await prices.price(3) == 1

    await eventually_async(seen)
    before = double.near_stats()
    assert await double(3) == 6
    assert double.near_stats().hits == before.hits + 1


async def test_many(hf: AsyncHoldfast, other: AsyncHoldfast) -> None:
    prices = Prices(hf, tags=lambda item: [f"item:{item}"])
    wanted = [*range(10), 3, 3]

    async def all_from_memory() -> bool:
        before = prices.stats.hits
        assert await prices.price.many(wanted) == [100 * n for n in wanted]
        return prices.stats.hits == before + len(wanted)

    await eventually_async(all_from_memory)
    prices.prices[5] = -1
    await other.invalidate_tags("item:5")

    async def seen() -> bool:
        return (await prices.price.many(wanted))[5] == -1

    await eventually_async(seen)
    assert prices.calls == 11


async def test_results_are_not_shared(hf: AsyncHoldfast) -> None:
    prices = Prices(hf)
    prices.prices[3] = {"cents": 3}
    result = await hit(prices.price, 3)
    result["cents"] = "changed by its caller"
    assert await hit(prices.price, 3) == {"cents": 3}

    @hf.cached(ttl=60.0, near=Near(share=True))
    async def shared(n: int) -> dict[str, int]:
        return {"n": n}

    assert await hit(shared, 1) is await hit(shared, 1)


async def test_compressed_results_take_their_whole_size(hf: AsyncHoldfast) -> None:
    @hf.cached(ttl=60.0, near=Near(max_bytes=2**20))
    async def text(n: int) -> str:
        return chr(n) * 100_000

    for n in range(64, 84):
        assert await hit(text, n) == chr(n) * 100_000
    stats = text.near_stats()
    assert stats.entries * 100_000 < stats.bytes <= stats.max_bytes
    assert stats.evicted


async def test_exceptions_and_none(hf: AsyncHoldfast) -> None:
    prices = Prices(hf, error_ttl={KeyError: 60.0})
    prices.prices[3] = None
    assert await hit(prices.price, 3) is None
    caught: list[KeyError] = []

    async def raised_from_memory() -> bool:
        before = prices.stats.hits
        with pytest.raises(KeyError) as error:
            await prices.price(77)
        caught.append(error.value)
        return prices.stats.hits > before

    await eventually_async(raised_from_memory)
    await raised_from_memory()
    assert caught[-1] is not caught[-2]


async def test_a_result_is_refreshed_early(hf: AsyncHoldfast) -> None:
    prices = Prices(hf, refresh=0.5, jitter=0.0)
    await hit(prices.price, 3)
    prices.prices[3] = -1

    async def refreshed() -> bool:
        return await prices.price(3) == -1

    await eventually_async(refreshed)


async def test_without_near(hf: AsyncHoldfast) -> None:
    @hf.cached(ttl=60.0)
    async def double(n: int) -> int:
        return 2 * n

    assert await double(1) == await double(1) == 2
    assert double.near_stats() == NearStats(problem="this object was made without near=")
    with pytest.raises(TypeError, match="near must be True, False or Near"):
        hf.cached(ttl=60.0, near=1)  # type: ignore[arg-type]


async def test_names_that_begin_alike(hf: AsyncHoldfast) -> None:
    """The server tracks the shorter prefix only, whichever comes first."""
    functions = {}
    for name in ("a/b/c", "a/b", "a/b/d", "a"):

        async def double(n: int) -> int:
            return 2 * n

        functions[name] = hf.cached(ttl=60.0, name=name, near=True)(double)
        assert await hit(functions[name], 1) == 2
        await sleep(0.3)
    for function in functions.values():
        assert await hit(function, 1) == 2
    for name, function in functions.items():
        before = {other: each.near_stats().invalidated for other, each in functions.items()}
        await hit(function, 1)
        await function.invalidate(1)
        after = {other: each.near_stats().invalidated for other, each in functions.items()}
        assert [other for other in after if after[other] != before[other]] == [name]
