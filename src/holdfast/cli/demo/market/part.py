"""The market as a part of the world: a lock for each item and purse, and a guard that looks on."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Any, ClassVar, Final

from redis import RedisError

from ..examples import example_file, load_example
from ..world.ground import NAMESPACE, Ground
from ..world.part import Part, Verdict, until
from .audit import Holdings, problems
from .crowd import Crowd, TraderFailed
from .figures import Tally
from .trader import market_ways
from .witness import fallen, notes_key, read_notes

WAY: Final = "witnessed"
PREFIX: Final = f"{NAMESPACE}:{{market}}"
SELLERS: Final = ("seller1", "seller2")
BUYERS: Final = ("buyer1", "buyer2")
PURSE: Final = 1_000_000_000
PACE_S: Final = 0.15


class Traders(Part):
    """Sellers and buyers, each in a process of its own, for as long as the world lasts."""

    name: ClassVar = "market"

    def __init__(self, ground: Ground) -> None:
        super().__init__()
        self._ground = ground
        file = example_file("market.py")
        example = load_example(file)
        self._redis = example.connect(ground.url)
        self._market = market_ways(example, self._redis, ground.hf)[WAY](PREFIX)
        where = {"example": str(file), "url": ground.url, "namespace": NAMESPACE}
        self._crowd = Crowd(len(SELLERS + BUYERS), where)
        self._tallies: list[Tally] = []
        self._failure: TraderFailed | None = None
        self._trading = threading.Thread(target=self._trade, name="market", daemon=True)
        self._sold = 0

    def begin(self) -> None:
        """Fill the purses, and let them trade."""
        self._redis.mset({self._market.purse(buyer): PURSE for buyer in BUYERS})
        self.opened.callback(self._redis.close)
        self._trading.start()
        self.opened.callback(self._trading.join)
        self.opened.callback(self._crowd.kill)

    def look(self) -> None:
        """See whether they trade.

        Raises:
            TraderFailed: one of them does not.
        """
        if self._failure is not None:
            raise self._failure

    def told(self) -> str:
        """Deals so far."""
        with suppress(RedisError):  # the server is away: the last number will do
            self._sold = self._redis.llen(notes_key(PREFIX))
        return f"{self._sold:,} deals, each under the locks of what it is about"

    def pids(self) -> Mapping[str, int]:
        """Its processes at the moment, by name."""
        return self._crowd.pids(SELLERS + BUYERS)

    def finish(self) -> Iterator[None]:
        """Wait for the last deals."""
        yield from until(lambda: not self._trading.is_alive())
        self.look()

    def verdicts(self) -> Iterator[Verdict]:
        """From the data of the market itself, and the guard's notes."""
        tally, notes = Tally.together(self._tallies), read_notes(self._market)
        held = Holdings.read(self._market, [*SELLERS, *BUYERS])
        items = {
            f"{seller}-{number}"
            for seller, each in zip(SELLERS, self._tallies, strict=False)
            for number in range(each.crafted)
        }
        found = problems(held, tally, gold=PURSE * len(BUYERS), items=items, buyers=BUYERS)
        promise = "one holder: no gold or item lost, none made"
        yield Verdict("locks", promise, tally.bought, "purchases", tuple(found))
        yield fences_rise(notes)

    def _trade(self) -> None:
        order = {"way": WAY, "prefix": PREFIX, "seconds": self._ground.seconds, "pace_s": PACE_S}
        orders: list[dict[str, Any]] = [order | {"player": name, "sells": True} for name in SELLERS]
        orders += [order | {"player": name, "sells": False} for name in BUYERS]
        try:
            with self._crowd as crowd:
                self._tallies = [Tally(**answer) for answer in crowd.ask(orders)]
        except TraderFailed as error:
            self._failure = error


def fences_rise(notes: list[Any]) -> Verdict:
    """Whether no change was made under a fence that was not higher than the one before."""
    fences = sum(map(len, notes))
    return Verdict("locks", "fences only rise", fences, "fences", tuple(fallen(notes)))
