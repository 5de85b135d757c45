"""One seller or buyer, in a process of its own: nobody shares an interpreter with a rival.

    python -m holdfast.cli.demo.market.trader

The first line of its standard input says where the market is, each further one what to do; each is
answered by one line. It ends when that input does, however the demo ended.
"""

from __future__ import annotations

import json
import random
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from types import ModuleType
from typing import Any

from redis import RedisError

from .... import Holdfast, LeaseLost, OutcomeUnknown, ServerUnavailable, StaleFence
from ..examples import load_example
from .figures import Tally
from .witness import witnessed

BATCH = 200  # items that a seller crafts at once
PRICES = (1, 100)
PAUSE_S = 0.001  # of a buyer who finds nothing
AWAY_S = 0.1  # likewise, a server
LEASE_S = 5.0

MarketOf = Callable[[str], Any]
"""The market of a prefix."""


def main() -> None:
    """Do what the lines say."""
    where = json.loads(sys.stdin.readline())
    example = load_example(Path(where["example"]))
    with (
        example.connect(where["url"]) as redis,
        Holdfast.from_url(where["url"], namespace=where["namespace"]) as hf,
    ):
        ways = market_ways(example, redis, hf)
        _answer({"ready": True})
        for line in sys.stdin:
            order = json.loads(line)
            market = ways[order["way"]](order["prefix"])
            pace_s = order.get("pace_s", 0.0)
            trader = Trader(market, order["player"], order["seconds"], pace_s=pace_s)
            if order["sells"]:
                trader.sell()
            else:
                trader.buy(example.Outcome)
            _answer(asdict(trader.tally()))


def market_ways(example: ModuleType, redis: Any, hf: Holdfast) -> dict[str, MarketOf]:
    """By the keys of `WAYS`; and one whose every change is noted."""
    return {
        "watch": lambda prefix: example.WatchedMarket(redis, prefix=prefix),
        "market_lock": lambda prefix: example.LockedMarket(redis, hf, prefix=prefix),
        "item_locks": lambda prefix: example.ItemLockedMarket(redis, hf, prefix=prefix),
        "witnessed": lambda prefix: witnessed(example)(redis, hf, prefix=prefix, lease=LEASE_S),
    }


def _answer(fields: dict[str, Any]) -> None:
    print(json.dumps(fields), flush=True)  # noqa: T201  (the demo reads it)


class Trader:
    """Trades for some seconds from now, and counts.

    Args:
        market: of the example.
        player: who trades.
        seconds: for how long.
        pace_s: rests so long after each deal, on average.
    """

    def __init__(self, market: Any, player: str, seconds: float, *, pace_s: float = 0.0) -> None:
        self._pace_s = pace_s
        self._market = market
        self._player = player
        self._ends_at = time.monotonic() + seconds
        self._counts: dict[str, float] = {}

    def sell(self) -> None:
        """Craft items, and list one after the other."""
        for item in self._crafted():
            with self._counting_failures():
                self._market.list_item(
                    self._player, item, random.randint(*PRICES), timeout=self._left_s()
                )
                self._count("listed")
            self._rest()
            if not self._left_s():
                return

    def buy(self, outcomes: Any) -> None:
        """Buy whatever is there."""
        while self._left_s():
            item = outcome = None
            with self._counting_failures():
                item = self._market.look()
            if item:
                outcome = self._try_to_buy(item)
                self._rest()
            if outcome in (None, outcomes.TOO_DEAR):
                time.sleep(self._pace_s or PAUSE_S)

    def tally(self) -> Tally:
        """What came of it."""
        return Tally(**self._counts, retries=self._market.retries)  # type: ignore[arg-type]

    def _crafted(self) -> Iterator[str]:
        crafted = 0
        while True:
            items = [f"{self._player}-{number}" for number in range(crafted, crafted + BATCH)]
            self._put_into_bag(items)
            self._count("crafted", BATCH)
            crafted += BATCH
            yield from items

    def _put_into_bag(self, items: list[str]) -> None:
        """Surely; twice does no harm."""
        while True:
            try:
                self._market.redis.sadd(self._market.bag(self._player), *items)
            except RedisError:
                if not self._left_s():
                    raise
                time.sleep(AWAY_S)
            else:
                return

    def _try_to_buy(self, item: str) -> Any:
        began_at = time.monotonic()
        outcome = None
        with self._counting_failures(cut_off="cut_off"):
            outcome = self._market.buy(self._player, item, timeout=self._left_s())
            self._count(outcome.name.lower())
        waited_s = time.monotonic() - began_at
        self._count("waited_s", waited_s)
        self._counts["longest_s"] = max(self._counts.get("longest_s", 0.0), waited_s)
        return outcome

    @contextmanager
    def _counting_failures(self, cut_off: str | None = None) -> Iterator[None]:
        """A machine that sleeps, or a server that is away, costs a purchase, not the demo."""
        try:
            yield
        except TimeoutError:
            if cut_off:
                self._count(cut_off)
        except (StaleFence, LeaseLost):
            self._count("unsure")
        except (ServerUnavailable, OutcomeUnknown, RedisError):
            self._count("unsure")
            time.sleep(AWAY_S)

    def _rest(self) -> None:
        if self._pace_s:
            time.sleep(random.uniform(0, 2 * self._pace_s))

    def _left_s(self) -> float:
        return max(0.0, self._ends_at - time.monotonic())

    def _count(self, name: str, more: float = 1) -> None:
        self._counts[name] = self._counts.get(name, 0) + more


if __name__ == "__main__":
    main()
