"""Whether money and items are conserved: who has what at the end, from the server's own data."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import chain
from typing import Any

from .figures import Tally

NAMED = 3  # items of a kind of problem


@dataclass(frozen=True, slots=True)
class Holdings:
    """Who has what.

    Attributes:
        gold: of each player.
        bags: the items of each player.
        offers: item → what the market says of it.
    """

    gold: Mapping[str, int]
    bags: Mapping[str, frozenset[str]]
    offers: Mapping[str, str]

    @classmethod
    def read(cls, market: Any, players: Iterable[str]) -> Holdings:
        """As the server has it, once nobody trades any more."""
        redis, players = market.redis, list(players)
        return cls(
            {player: int(redis.get(market.purse(player)) or 0) for player in players},
            {player: frozenset(redis.sscan_iter(market.bag(player), count=1000))
             for player in players},
            dict(redis.hscan_iter(market.offers, count=1000)),
        )  # fmt: skip

    @property
    def total_gold(self) -> int:
        """Of all players."""
        return sum(self.gold.values())

    @property
    def items(self) -> Counter[str]:
        """How many of each item there are, on the market and in bags."""
        return Counter(chain(self.offers, *self.bags.values()))


def problems(
    held: Holdings, tally: Tally, *, gold: int, items: Iterable[str], buyers: Iterable[str]
) -> Iterator[str]:
    """What is not as it must be, in sentences.

    Args:
        held: at the end.
        tally: what the traders say.
        gold: what all had together at the beginning.
        items: all that there ever were.
        buyers: whose bags were empty at the beginning.
    """
    if held.total_gold != gold:
        yield f"there were {gold:,} gold, now there are {held.total_gold:,}"
    for player, left in held.gold.items():
        if left < 0:
            yield f"{player} owes {-left:,} gold"
    expected, found = set(items), held.items
    for what, which in (
        ("vanished", expected - found.keys()),
        ("came from nowhere", found.keys() - expected),
        ("are there twice", {item for item, count in found.items() if count > 1}),
    ):
        if which:
            yield f"{len(which):,} items {what}: {_some(which)}"
    taken = sum(len(held.bags[buyer]) for buyer in buyers)
    if abs(taken - tally.bought) > tally.unsure:
        yield f"buyers say that they bought {tally.bought:,} items, and have {taken:,}"


def _some(items: set[str]) -> str:
    return ", ".join(sorted(items)[:NAMED]) + (", …" if len(items) > NAMED else "")
