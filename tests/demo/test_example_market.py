"""Test Fake Game's market: with each guard, no item and no gold is lost or doubled."""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier
from typing import Any

import pytest

from faults.processes import Process
from faults.servers import Server
from faults.waiting import eventually
from holdfast import Holdfast
from holdfast_demo.example_files import example_file, load_example

EXAMPLE = example_file("market.py")
ROUNDS = 20

FROZEN_BUYER = """
import sys, time
from pathlib import Path
from holdfast import Holdfast, LeaseLost, StaleFence
from holdfast_demo.example_files import load_example

example, way, url, namespace, prefix, folder = sys.argv[1:]
market = load_example(Path(example))

class Frozen(getattr(market, way)):
    def _change(self, *args):
        Path(folder, "has-read").touch()
        while not Path(folder, "go-on").exists():
            time.sleep(0.01)
        super()._change(*args)

with market.connect(url) as redis, Holdfast.from_url(url, namespace=namespace) as hf:
    try:
        print(Frozen(redis, hf, prefix=prefix, lease=3.0).buy("jill", "egg"))
    except (LeaseLost, StaleFence) as error:
        print(type(error).__name__)
"""


@pytest.fixture(scope="module")
def example() -> Any:
    return load_example(EXAMPLE)


@pytest.fixture
def redis(example: Any, standalone: Server) -> Iterator[Any]:
    with example.connect(standalone.url) as redis:
        yield redis


@pytest.fixture
def namespace() -> str:
    return f"market-{secrets.token_hex(4)}"


@pytest.fixture
def hf(standalone: Server, namespace: str) -> Iterator[Holdfast]:
    with Holdfast.from_url(standalone.url, namespace=namespace) as hf:
        yield hf


@pytest.fixture(params=["WatchedMarket", "LockedMarket", "ItemLockedMarket"])
def market(
    request: pytest.FixtureRequest, example: Any, redis: Any, hf: Holdfast, namespace: str
) -> Any:
    """Return each market; jason has an egg and a sword, jill 100 gold, jack 50."""
    clients = [redis] if request.param == "WatchedMarket" else [redis, hf]
    market = getattr(example, request.param)(*clients, prefix=namespace + ":{market}")
    stocked(market)
    return market


def stocked(market: Any) -> None:
    market.redis.sadd(market.bag("jason"), "egg", "sword")
    market.redis.mset({market.purse("jill"): 100, market.purse("jack"): 50})


def gold(market: Any) -> list[int]:
    """Return the gold of jason, jill and jack."""
    players = ("jason", "jill", "jack")
    return [int(market.redis.get(market.purse(player)) or 0) for player in players]


def items(market: Any) -> list[set[str]]:
    """Return the items on the market, and those of jason, jill and jack."""
    bags = [market.redis.smembers(market.bag(player)) for player in ("jason", "jill", "jack")]
    return [set(market.redis.hkeys(market.offers)), *bags]


def test_a_sale(market: Any, example: Any) -> None:
    """Move the item to the buyer and the gold to the seller, also for the last coin."""
    assert market.list_item("jason", "egg", 100) is True
    assert (market.look(), items(market)) == ("egg", [{"egg"}, {"sword"}, set(), set()])
    assert market.buy("jill", "egg") is example.Outcome.BOUGHT
    assert gold(market) == [100, 0, 50]
    assert items(market) == [set(), {"sword"}, {"egg"}, set()]
    assert (market.look(), market.retries) == (None, 0)


def test_what_cannot_be_sold(market: Any, example: Any) -> None:
    """Change nothing if it is gone, too dear, or not the seller's."""
    market.list_item("jason", "egg", 51)
    assert market.buy("jack", "egg") is example.Outcome.TOO_DEAR
    assert market.list_item("jason", "egg", 1) is False
    assert market.list_item("jill", "sword", 1) is False
    assert gold(market) == [0, 100, 50]
    market.buy("jill", "egg")
    assert market.buy("jack", "egg") is example.Outcome.GONE
    assert gold(market) == [51, 49, 50]
    assert items(market) == [set(), {"sword"}, {"egg"}, set()]


def test_two_want_the_same(market: Any, example: Any) -> None:
    """Sell it to one player; the other one keeps the gold."""
    for _ in range(ROUNDS):
        market.redis.delete(market.bag("jill"), market.bag("jack"), market.purse("jason"))
        stocked(market)
        market.list_item("jason", "egg", 30)
        outcomes = at_once(lambda player: market.buy(player, "egg"), ["jill", "jack"])
        assert sorted(outcomes) == [example.Outcome.BOUGHT, example.Outcome.GONE]
        assert (gold(market)[0], sum(gold(market))) == (30, 150)
        assert sorted(map(len, items(market))) == [0, 0, 1, 1]


def test_gold_is_spent_once(market: Any, example: Any) -> None:
    """Let a player who buys two things at once pay for only one."""
    for _ in range(ROUNDS):
        market.redis.delete(market.bag("jill"), market.purse("jason"), market.offers)
        stocked(market)
        for item in ("egg", "sword"):
            market.list_item("jason", item, 60)
        outcomes = at_once(lambda item: market.buy("jill", item), ["egg", "sword"])
        assert sorted(outcomes) == [example.Outcome.BOUGHT, example.Outcome.TOO_DEAR]
        assert gold(market) == [60, 40, 50]


def at_once(do: Any, arguments: list[str]) -> list[Any]:
    barrier = Barrier(len(arguments))

    def run(argument: str) -> Any:
        barrier.wait()
        return do(argument)

    with ThreadPoolExecutor(len(arguments)) as threads:
        return list(threads.map(run, arguments))


@pytest.mark.parametrize("way", ["LockedMarket", "ItemLockedMarket"])
def test_a_buyer_that_was_frozen_buys_nothing(
    way: str,
    example: Any,
    redis: Any,
    hf: Holdfast,
    namespace: str,
    standalone: Server,
    tmp_path: Path,
) -> None:
    """Freeze a buyer that has seen the offer: its fence is refused later."""
    market = getattr(example, way)(redis, hf, prefix=namespace + ":{market}")
    stocked(market)
    market.list_item("jason", "egg", 30)
    argv = ("-c", FROZEN_BUYER, EXAMPLE, way, standalone.url, namespace, market.prefix, tmp_path)
    with Process.python(*argv, name="jill") as jill:
        eventually((tmp_path / "has-read").exists)
        jill.pause()
        assert market.buy("jack", "egg", timeout=60.0) is example.Outcome.BOUGHT
        (tmp_path / "go-on").touch()
        jill.resume()
        assert jill.wait() == 0
        assert jill.output.split() == ["StaleFence"]
    assert gold(market) == [30, 100, 20]
    assert items(market) == [set(), {"sword"}, set(), {"egg"}]


def test_the_example_by_hand(standalone: Server, redis: Any) -> None:
    """Show the same sale with each guard, and remove all keys."""
    with Process.python(EXAMPLE, standalone.url, name="market") as process:
        assert process.wait() == 0, process.output
        shown = process.output
    assert shown.count("jill wants the Dragon Egg: bought") == 3
    assert shown.count("jack451 wants the Dragon Egg: gone") == 3
    assert shown.count("jack451 wants the Crown of the Drowned King: too dear") == 3
    assert shown.count("jason22 has 12,000 gold and nothing") == 3
    assert list(redis.scan_iter("fakegame-*:{market}:*")) == []
