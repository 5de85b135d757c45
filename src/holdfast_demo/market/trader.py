"""Run one seller or buyer in a separate process, so that traders do not share an interpreter.

    python -m holdfast_demo.market.trader

The first line of the standard input is JSON with the URL and namespace of the market. Each further
line is an order; the process replies to it with one line. The process ends when its input ends.
"""

from __future__ import annotations

import json
import random
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from types import ModuleType
from typing import Any, Final, Self

from redis import RedisError

from holdfast import Holdfast, LeaseLost, OutcomeUnknown, ServerUnavailable, StaleFence

from ..example_files import load_example
from .fence_notes import noting_market

BATCH: Final = 200
"""Number of items that a seller creates together."""

PRICES: Final = (1, 100)
PAUSE_S: Final = 0.001
"""Seconds that a buyer pauses after finding no item."""

AWAY_S: Final = 0.1
"""Seconds between attempts while the server is unavailable."""

LEASE_S: Final = 5.0

MarketOf = Callable[[str], Any]
"""Called with the prefix of a market's keys; returns the market."""


@dataclass(frozen=True, slots=True)
class TradeCounts:
    """Count what one trader, or all traders, did in a round.

    Attributes:
        crafted: items that were created.
        listed: items that were offered.
        bought: items that were bought.
        gone: purchases that were refused because the item was sold already.
        too_dear: purchases that were refused because the buyer had too little gold.
        cut_off: purchases that were not finished when the round ended.
        unsure: purchases and offers with an unknown result, because a lease was lost or the server
            did not reply.
        retries: transactions that were repeated, because another client changed the data.
        waited_s: sum of the seconds that purchases took, from the decision to the result.
        longest_s: seconds that the longest purchase took.
    """

    crafted: int = 0
    listed: int = 0
    bought: int = 0
    gone: int = 0
    too_dear: int = 0
    cut_off: int = 0
    unsure: int = 0
    retries: int = 0
    waited_s: float = 0.0
    longest_s: float = 0.0

    @classmethod
    def together(cls, counts: Iterable[Self]) -> Self:
        """Return the sums of *counts*; for `longest_s`, the maximum."""
        counts = list(counts)
        sums = {f.name: sum(getattr(each, f.name) for each in counts) for f in fields(cls)}
        sums["longest_s"] = max((each.longest_s for each in counts), default=0.0)
        return cls(**sums)

    @property
    def mean_wait_s(self) -> float | None:
        """Return the mean seconds that a purchase took; None if there was none."""
        purchases = self.bought + self.gone + self.too_dear + self.cut_off
        return self.waited_s / purchases if purchases else None


def main() -> None:
    """Read orders from the standard input, carry them out, and print the counts."""
    where = json.loads(sys.stdin.readline())
    module = load_example(Path(where["example"]))
    with (
        module.connect(where["url"]) as redis,
        Holdfast.from_url(where["url"], namespace=where["namespace"]) as hf,
    ):
        guards = markets(module, redis, hf)
        _answer({"ready": True})
        for line in sys.stdin:
            order = json.loads(line)
            market = guards[order["guard"]](order["prefix"])
            pace_s = order.get("pace_s", 0.0)
            trading = Trading(market, order["player"], order["seconds"], pace_s=pace_s)
            if order["sells"]:
                trading.sell()
            else:
                trading.buy(module.Outcome)
            _answer(asdict(trading.counts()))


def markets(module: ModuleType, redis: Any, hf: Holdfast) -> dict[str, MarketOf]:
    """Return name of a guard → function that returns a market. `noted` also writes notes."""
    return {
        "watch": lambda prefix: module.WatchedMarket(redis, prefix=prefix),
        "market_lock": lambda prefix: module.LockedMarket(redis, hf, prefix=prefix),
        "item_locks": lambda prefix: module.ItemLockedMarket(redis, hf, prefix=prefix),
        "noted": lambda prefix: noting_market(module)(redis, hf, prefix=prefix, lease=LEASE_S),
    }


def _answer(fields: dict[str, Any]) -> None:
    print(json.dumps(fields), flush=True)  # noqa: T201  (the demo reads it)


class Trading:
    """Trade for *seconds* from now, and count the results.

    Args:
        market: a market of the example.
        player: name of the trader.
        seconds: duration of the trading.
        pace_s: mean pause in seconds after each offer or purchase.
    """

    def __init__(self, market: Any, player: str, seconds: float, *, pace_s: float = 0.0) -> None:
        self._pace_s = pace_s
        self._market = market
        self._player = player
        self._ends_at = time.monotonic() + seconds
        self._counts: dict[str, float] = {}

    def sell(self) -> None:
        """Create items, and offer one after the other."""
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
        """Buy any item on the market, one after the other."""
        while self._left_s():
            item = outcome = None
            with self._counting_failures():
                item = self._market.look()
            if item:
                outcome = self._try_to_buy(item)
                self._rest()
            if outcome in (None, outcomes.TOO_DEAR):
                time.sleep(self._pace_s or PAUSE_S)

    def counts(self) -> TradeCounts:
        """Return the counts so far."""
        return TradeCounts(**self._counts, retries=self._market.retries)  # type: ignore[arg-type]

    def _crafted(self) -> Iterator[str]:
        crafted = 0
        while True:
            items = [f"{self._player}-{number}" for number in range(crafted, crafted + BATCH)]
            self._put_into_bag(items)
            self._count("crafted", BATCH)
            crafted += BATCH
            yield from items

    def _put_into_bag(self, items: list[str]) -> None:
        """Add items to the trader's bag; repeat this harmless call until the server replies."""
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
        """Count a timeout, a lost lease or an unavailable server, instead of ending the demo."""
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
