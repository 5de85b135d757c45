"""The market in the world demo: it has a lock for each item and purse, and records all fences."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import ClassVar, Final

from redis import RedisError

from ..context import DemoContext
from ..demo import Demo, Invariant, until
from ..example_files import example, example_file
from .audit import Assets, crafted_items, problems
from .fence_notes import fences_rise, notes_key, read_notes
from .trader import TradeCounts, markets
from .trader_pool import TraderPool

GUARD: Final = "noted"
SELLERS: Final = ("seller1", "seller2")
BUYERS: Final = ("buyer1", "buyer2")
PURSE: Final = 1_000_000_000
PACE_S: Final = 0.15


class GuardedMarketDemo(Demo):
    """Trade on one market for *seconds*, each trader in a separate process."""

    name: ClassVar = "market"

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._deals = 0

    def start(self, context: DemoContext) -> None:
        """Fill the purses and start the traders."""
        module = example("market.py")
        self._redis = self.opened.enter_context(module.connect(context.url))
        prefix = f"{context.namespace}:{{market}}"
        self._market = markets(module, self._redis, context.hf)[GUARD](prefix)
        self._redis.mset({self._market.purse(buyer): PURSE for buyer in BUYERS})
        file, size = example_file("market.py"), len(SELLERS + BUYERS)
        self._pool = TraderPool(size, file, context.url, context.namespace)
        self.opened.enter_context(self._pool)
        self._pool.connect()
        order = {"guard": GUARD, "prefix": prefix, "seconds": self._seconds, "pace_s": PACE_S}
        self._pool.start_round(SELLERS, BUYERS, order)

    def poll(self) -> bool:
        return self._pool.counts() is None

    def line(self) -> str:
        with suppress(RedisError):  # show the last number while the server is unavailable
            self._deals = self._redis.llen(notes_key(self._market.prefix))
        return f"{self._deals:,} deals, each under the locks of its item and purse"

    def pids(self) -> Mapping[str, int]:
        return self._pool.pids(SELLERS + BUYERS)

    def finish(self) -> Iterator[None]:
        """Wait until the traders have ended."""
        yield from until(lambda: not self.poll())

    def invariants(self) -> Iterator[Invariant]:
        """Check the assets on the market, and the fences in its notes."""
        each = self._pool.counts() or []
        counts = TradeCounts.together(each)
        assets = Assets.read(self._market, [*SELLERS, *BUYERS])
        items = crafted_items(SELLERS, each)
        gold = PURSE * len(BUYERS)
        found = tuple(problems(assets, counts, gold=gold, items=items, buyers=BUYERS))
        promise = "one holder: no gold or item lost, none made"
        yield Invariant("locks", promise, counts.bought, "purchases", found)
        yield fences_rise(read_notes(self._market))
