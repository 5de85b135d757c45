"""The contest: each crowd trades for the same time in each of the ways."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice, product
from pathlib import Path

from .... import Holdfast
from ..examples import load_example
from .audit import Holdings, problems
from .crowd import Crowd
from .figures import WAYS, Run, Tally
from .trader import MarketOf, market_ways

CROWDS = ((1, 1), (5, 1), (5, 5))
"""Sellers and buyers."""

PURSE = 1_000_000_000
"""Gold of each buyer at the beginning: more than can be spent in any run."""

CROWN, CROWN_PRICE, KING = "Crown of the Drowned King", 10 * PURSE, "king"
"""On offer all the time, and too dear for everybody."""


@dataclass(frozen=True, slots=True)
class Plan:
    """What to do; see the options of the command.

    Attributes:
        url: of the server.
        namespace: of all keys.
        seconds: of each run.
        example: the file `market.py`.
    """

    url: str
    namespace: str
    seconds: float
    example: Path

    def prefix(self, way: str, sellers: int, buyers: int) -> str:
        """Of the keys of one run, in one slot of a cluster."""
        return f"{self.namespace}:{{market:{way}:{sellers}x{buyers}}}"


@dataclass(frozen=True, slots=True)
class Round:
    """One run to be made: a way, and how many trade."""

    way: str
    sellers: int
    buyers: int

    def __str__(self) -> str:
        return f"{self.sellers} × {self.buyers}, {WAYS[self.way]}"

    @property
    def players(self) -> tuple[list[str], list[str]]:
        """The names of the sellers and of the buyers."""
        return (
            [f"seller{number}" for number in range(1, self.sellers + 1)],
            [f"buyer{number}" for number in range(1, self.buyers + 1)],
        )


ROUNDS = tuple(Round(way, *crowd) for crowd, way in product(CROWDS, WAYS))


@contextmanager
def opened(plan: Plan, hf: Holdfast) -> Iterator[Contest]:
    """A contest with its traders; afterwards there is nothing left of either.

    Raises:
        TraderFailed: the traders do not start.
    """
    example = load_example(plan.example)
    where = {"example": str(plan.example), "url": plan.url, "namespace": plan.namespace}
    with example.connect(plan.url) as redis:
        try:
            # As many as the largest round needs; of these, each is told to trade or is left alone.
            size = max(each.sellers + each.buyers for each in ROUNDS)
            with Crowd(size, where) as crowd:
                yield Contest(plan, market_ways(example, redis, hf), crowd)
        finally:
            keys = redis.scan_iter(f"{plan.namespace}:*", count=1000)
            while some := list(islice(keys, 1000)):
                redis.unlink(*some)


class Contest:
    """Plays rounds."""

    def __init__(self, plan: Plan, ways: Mapping[str, MarketOf], crowd: Crowd) -> None:
        self._plan = plan
        self._ways = ways
        self._crowd = crowd

    def play(self, this: Round) -> Run:
        """Trade, and look whether all is there that must be."""
        market = self._ways[this.way](self._plan.prefix(this.way, this.sellers, this.buyers))
        sellers, buyers = this.players
        market.redis.mset({market.purse(buyer): PURSE for buyer in buyers})
        market.redis.sadd(market.bag(KING), CROWN)
        market.list_item(KING, CROWN, CROWN_PRICE)
        order = {"way": this.way, "prefix": market.prefix, "seconds": self._plan.seconds}
        orders = [order | {"player": player, "sells": True} for player in sellers]
        orders += [order | {"player": player, "sells": False} for player in buyers]
        tallies = [Tally(**answer) for answer in self._crowd.ask(orders)]

        held = Holdings.read(market, [KING, *sellers, *buyers])
        items = {CROWN}
        for seller, tally in zip(sellers, tallies, strict=False):
            items.update(f"{seller}-{number}" for number in range(tally.crafted))
        tally = Tally.together(tallies)
        found = problems(held, tally, gold=PURSE * len(buyers), items=items, buyers=buyers)
        return Run(
            this.way, this.sellers, this.buyers, self._plan.seconds, tally,
            held.total_gold, held.items.total(), tuple(found),
        )  # fmt: skip
