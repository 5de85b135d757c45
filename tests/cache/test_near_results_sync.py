# Generated from test_near_results_async.py by tools/unasync.py: edit that, then run `make sync`.
"""Results of cached functions in the memory of the process (`near=`)."""

from collections.abc import Iterator
from typing import Any

import pytest

from conftest import Site
from faults.waiting import eventually
from holdfast import Holdfast, Near, NearStats, acl_rule
from holdfast.cache._sync.cached_function import CachedFunction
from holdfast.core.concurrency._sync.primitives import sleep


@pytest.fixture(autouse=True)
def rights(site: Site) -> None:
    """Give the user of the test, if it has one, the rights for near caches."""
    if f"{site.namespace}:" in site.url:
        rule = acl_rule(site.namespace, near=True)
        site.client.execute_command(
            "ACL", "SETUSER", site.namespace, *rule.split(), "on", ">secret"
        )


@pytest.fixture
def other(site: Site) -> Iterator[Holdfast]:
    """Yield a client of another process, as far as Holdfast knows."""
    with Holdfast.from_url(site.url, namespace=site.namespace) as client:
        yield client


class Prices:
    """A cached function, and what it returns."""

    def __init__(self, hf: Holdfast, **options: Any) -> None:
        self.prices: dict[int, Any] = {n: 100 * n for n in range(20)}
        self.calls = 0

        @hf.cached(ttl=60.0, name="price", near=True, **options)
        def price(item: int) -> Any:
            self.calls += 1
            return self.prices[item]

        self.price = price

    @property
    def stats(self) -> NearStats:
        return self.price.near_stats()


def hit(function: CachedFunction[Any, Any], *args: Any) -> Any:
    """Call a function until its result comes from memory, and return it."""

    def from_memory() -> list[Any]:
        before = function.near_stats().hits
        result = function(*args)
        return [result] if function.near_stats().hits > before else []

    return (eventually(from_memory))[0]


def test_a_result_is_served_from_memory(hf: Holdfast) -> None:
    prices = Prices(hf)
    assert hit(prices.price, 3) == 300
    before = prices.stats
    assert before.confirmed
    for _ in range(10):
        assert prices.price(3) == 300
    assert prices.stats.hits == before.hits + 10
    assert prices.stats.server_hits == before.server_hits
    assert prices.calls == prices.stats.loads == 1
    status = prices.price.status()
    assert status is not None


def test_another_process_invalidates(hf: Holdfast, other: Holdfast) -> None:
    prices = Prices(hf, tags=lambda item: [f"item:{item}", "all"])
    elsewhere = Prices(other, tags=lambda item: [f"item:{item}", "all"])
    for way in range(4):
        hit(prices.price, 3)
        hit(prices.price, 4)
        prices.prices = dict.fromkeys(range(20), way)
        if way == 0:
            elsewhere.price.invalidate(3)
        elif way == 1:
            other.invalidate_tags("item:3")
        elif way == 2:
            other.invalidate_tags("all")
        else:
            elsewhere.price.invalidate_all()

        def seen(way: int = way) -> bool:
            return prices.price(3) == way

        eventually(seen)


def test_ones_own_writes_are_seen_at_once(hf: Holdfast) -> None:
    prices = Prices(hf, tags=lambda item: [f"item:{item}", "all"])
    price = prices.price
    price(3)
    for n in range(35):
        hit(price, 3)
        prices.prices[3] = n
        if n % 7 == 0:
            price.invalidate(3)
        elif n % 7 == 1:
            price.invalidate_many([3, 4])
        elif n % 7 == 2:
            price.invalidate_all()
        elif n % 7 == 3:
            hf.invalidate_tags(f"item:{3}")
        elif n % 7 == 4:
            hf.invalidate_tags("all", "others")
        elif n % 7 == 5:
            hf.invalidate_cached("price")
        else:
            hf.invalidate_cached("price", key=price.key(3).partition(":value:")[2])
        assert price(3) == n
    prices.prices[3] = -1
    hit(price, 3)
    price.put(-2, 3)
    assert price(3) == -2


def test_one_tag_of_another_function(hf: Holdfast, other: Holdfast) -> None:
    """A tag is of all functions; its change removes only what depends on it."""
    prices = Prices(hf, tags=["shop"])

    @hf.cached(ttl=60.0, near=True, tags=lambda n: [f"n:{n}"])
    def double(n: int) -> int:
        return 2 * n

    hit(prices.price, 3)
    hit(double, 3)
    hit(double, 4)
    other.invalidate_tags("shop", "n:4")
    prices.prices[3] = 1

    def seen() -> bool:
        return prices.price(3) == 1

    eventually(seen)
    before = double.near_stats()
    assert double(3) == 6
    assert double.near_stats().hits == before.hits + 1


def test_many(hf: Holdfast, other: Holdfast) -> None:
    prices = Prices(hf, tags=lambda item: [f"item:{item}"])
    wanted = [*range(10), 3, 3]

    def all_from_memory() -> bool:
        before = prices.stats.hits
        assert prices.price.many(wanted) == [100 * n for n in wanted]
        return prices.stats.hits == before + len(wanted)

    eventually(all_from_memory)
    prices.prices[5] = -1
    other.invalidate_tags("item:5")

    def seen() -> bool:
        return (prices.price.many(wanted))[5] == -1

    eventually(seen)
    assert prices.calls == 11


def test_results_are_not_shared(hf: Holdfast) -> None:
    prices = Prices(hf)
    prices.prices[3] = {"cents": 3}
    result = hit(prices.price, 3)
    result["cents"] = "changed by its caller"
    assert hit(prices.price, 3) == {"cents": 3}

    @hf.cached(ttl=60.0, near=Near(share=True))
    def shared(n: int) -> dict[str, int]:
        return {"n": n}

    assert hit(shared, 1) is hit(shared, 1)


def test_compressed_results_take_their_whole_size(hf: Holdfast) -> None:
    @hf.cached(ttl=60.0, near=Near(max_bytes=2**20))
    def text(n: int) -> str:
        return chr(n) * 100_000

    for n in range(64, 84):
        assert hit(text, n) == chr(n) * 100_000
    stats = text.near_stats()
    assert stats.entries * 100_000 < stats.bytes <= stats.max_bytes
    assert stats.evicted


def test_exceptions_and_none(hf: Holdfast) -> None:
    prices = Prices(hf, error_ttl={KeyError: 60.0})
    prices.prices[3] = None
    assert hit(prices.price, 3) is None
    caught: list[KeyError] = []

    def raised_from_memory() -> bool:
        before = prices.stats.hits
        with pytest.raises(KeyError) as error:
            prices.price(77)
        caught.append(error.value)
        return prices.stats.hits > before

    eventually(raised_from_memory)
    raised_from_memory()
    assert caught[-1] is not caught[-2]


def test_a_result_is_refreshed_early(hf: Holdfast) -> None:
    prices = Prices(hf, refresh=0.5, jitter=0.0)
    hit(prices.price, 3)
    prices.prices[3] = -1

    def refreshed() -> bool:
        return prices.price(3) == -1

    eventually(refreshed)


def test_without_near(hf: Holdfast) -> None:
    @hf.cached(ttl=60.0)
    def double(n: int) -> int:
        return 2 * n

    assert double(1) == double(1) == 2
    assert double.near_stats() == NearStats(problem="this object was made without near=")
    with pytest.raises(TypeError, match="near must be True, False or Near"):
        hf.cached(ttl=60.0, near=1)  # type: ignore[arg-type]


def test_names_that_begin_alike(hf: Holdfast) -> None:
    """The server tracks the shorter prefix only, whichever comes first."""
    functions = {}
    for name in ("a/b/c", "a/b", "a/b/d", "a"):

        def double(n: int) -> int:
            return 2 * n

        functions[name] = hf.cached(ttl=60.0, name=name, near=True)(double)
        assert hit(functions[name], 1) == 2
        sleep(0.3)
    for function in functions.values():
        assert hit(function, 1) == 2
    for name, function in functions.items():
        before = {other: each.near_stats().invalidated for other, each in functions.items()}
        hit(function, 1)
        function.invalidate(1)
        after = {other: each.near_stats().invalidated for other, each in functions.items()}
        assert [other for other in after if after[other] != before[other]] == [name]
