"""Check that no gold and no items were lost or created, with the data on the server."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import chain
from typing import Any, Final

from .trader import TradeCounts

NAMED: Final = 3
"""Maximum number of items that a sentence names."""


@dataclass(frozen=True, slots=True)
class Assets:
    """Hold the gold and the items of all players.

    Attributes:
        gold: player → gold.
        bags: player → items.
        offers: item on the market → its offer.
    """

    gold: Mapping[str, int]
    bags: Mapping[str, frozenset[str]]
    offers: Mapping[str, str]

    @classmethod
    def read(cls, market: Any, players: Iterable[str]) -> Assets:
        """Read the assets of *players* from the server. All trading must have ended."""
        redis, players = market.redis, list(players)
        return cls(
            {player: int(redis.get(market.purse(player)) or 0) for player in players},
            {player: frozenset(redis.sscan_iter(market.bag(player), count=1000))
             for player in players},
            dict(redis.hscan_iter(market.offers, count=1000)),
        )  # fmt: skip

    @property
    def total_gold(self) -> int:
        """Return the sum of the gold of all players."""
        return sum(self.gold.values())

    @property
    def items(self) -> Counter[str]:
        """Return item → how often it is on the market or in bags."""
        return Counter(chain(self.offers, *self.bags.values()))


def crafted_items(sellers: Iterable[str], counts: Iterable[TradeCounts]) -> set[str]:
    """Return the names of all items that the sellers have created."""
    pairs = zip(sellers, counts, strict=False)
    return {f"{seller}-{number}" for seller, each in pairs for number in range(each.crafted)}


def problems(
    assets: Assets, counts: TradeCounts, *, gold: int, items: set[str], buyers: Iterable[str]
) -> Iterator[str]:
    """Yield a sentence for each kind of loss or creation of gold or items.

    Args:
        assets: the assets at the end.
        counts: the sums of what the traders counted.
        gold: the gold of all players at the beginning.
        items: all items that were ever created.
        buyers: players with an empty bag at the beginning.
    """
    if assets.total_gold != gold:
        yield f"there were {gold:,} gold, now there are {assets.total_gold:,}"
    for player, left in assets.gold.items():
        if left < 0:
            yield f"{player} owes {-left:,} gold"
    found = assets.items
    for what, which in (
        ("vanished", items - found.keys()),
        ("came from nowhere", found.keys() - items),
        ("are there twice", {item for item, count in found.items() if count > 1}),
    ):
        if which:
            named = ", ".join(sorted(which)[:NAMED]) + (", …" if len(which) > NAMED else "")
            yield f"{len(which):,} items {what}: {named}"
    taken = sum(len(assets.bags[buyer]) for buyer in buyers)
    if abs(taken - counts.bought) > counts.unsure:
        yield f"buyers say that they bought {counts.bought:,} items, and have {taken:,}"
