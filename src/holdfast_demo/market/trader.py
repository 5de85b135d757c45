"""One seller or buyer, in a process of its own: no rival shares its interpreter.

    python -m holdfast_demo.market.trader

The first line of standard input says where the market is. Every further line is an order, and is
answered by one line. The process ends when its input does, however the demo ended.
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
"""Items that a seller crafts at once."""

PRICES: Final = (1, 100)
PAUSE_S: Final = 0.001
"""Pause of a buyer who finds nothing."""

AWAY_S: Final = 0.1
"""Pause while the server is away."""

LEASE_S: Final = 5.0

MarketOf = Callable[[str], Any]
"""Returns the market of a prefix."""


@dataclass(frozen=True, slots=True)
class TradeCounts:
    """What traders did in one run; one of them, or all together.

    Attributes:
        crafted: items that they made.
        listed: items that they offered.
        gone: purchases refused because the item was sold already.
        too_dear: purchases refused because the purse held less than the price.
        cut_off: purchases that were not done when the run ended.
        unsure: purchases and offers whose result only the data show, because a lease was lost.
        retries: transactions undone by the change of another client.
        waited_s: seconds of all purchases, from the decision to the result.
        longest_s: the longest of these.
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
        """Return the sums, and the longest wait of all."""
        counts = list(counts)
        sums = {f.name: sum(getattr(each, f.name) for each in counts) for f in fields(cls)}
        sums["longest_s"] = max((each.longest_s for each in counts), default=0.0)
        return cls(**sums)

    @property
    def mean_wait_s(self) -> float | None:
        """Return the seconds of a purchase; None if there was none."""
        purchases = self.bought + self.gone + self.too_dear + self.cut_off
        return self.waited_s / purchases if purchases else None


def main() -> None:
    """Carry out the orders."""
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
    """Return the markets by how they are guarded; every change of `noted` leaves a note."""
    return {
        "watch": lambda prefix: module.WatchedMarket(redis, prefix=prefix),
        "market_lock": lambda prefix: module.LockedMarket(redis, hf, prefix=prefix),
        "item_locks": lambda prefix: module.ItemLockedMarket(redis, hf, prefix=prefix),
        "noted": lambda prefix: noting_market(module)(redis, hf, prefix=prefix, lease=LEASE_S),
    }


def _answer(fields: dict[str, Any]) -> None:
    print(json.dumps(fields), flush=True)  # noqa: T201  (the demo reads it)


class Trading:
    """Trades for some seconds from now, and counts.

    Args:
        market: a market of the example.
        player: the name of the trader.
        seconds: how long it trades.
        pace_s: mean pause after each deal.
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
        """Buy any item that is there."""
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
        """Return what was counted."""
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
        """Add items until the server answers; adding them twice does no harm."""
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
        """Count a lost lease or a server that is away; they cost a purchase, not the demo."""
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
