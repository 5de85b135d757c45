"""What the runs of the market demo came to: plain values."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass, fields
from typing import Any, Self

WAYS = {
    "watch": "WATCH/MULTI/EXEC",
    "market_lock": "one lock",
    "item_locks": "a lock per item",
}
"""The ways to guard the market, as programs and as people read them."""


@dataclass(frozen=True, slots=True)
class Tally:
    """What traders did in one run; one of them, or all together.

    Attributes:
        crafted: items that they brought into the world.
        listed: items that they offered.
        gone: purchases refused because somebody else had bought the item.
        too_dear: purchases refused because the purse held less than the price.
        cut_off: purchases that did not come about before the run ended.
        unsure: purchases and offers of which only the data tell what became of them, because a
            lease was lost.
        retries: transactions undone by somebody else's change, of sellers and buyers.
        waited_s: of all purchases, from the wish to what came of it; the seconds of those that were
            cut off count, too.
        longest_s: of these, the longest.
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
    def together(cls, tallies: Iterable[Self]) -> Self:
        """The sums, and the longest wait of all."""
        tallies = list(tallies)
        sums = {f.name: sum(getattr(each, f.name) for each in tallies) for f in fields(cls)}
        sums["longest_s"] = max((each.longest_s for each in tallies), default=0.0)
        return cls(**sums)

    @property
    def mean_wait_s(self) -> float | None:
        """Seconds that a purchase took; None if nobody tried one."""
        purchases = self.bought + self.gone + self.too_dear + self.cut_off
        return self.waited_s / purchases if purchases else None


@dataclass(frozen=True, slots=True)
class Run:
    """One way, one crowd.

    Attributes:
        way: a key of `WAYS`.
        seconds: for how long they traded.
        gold: what all players had together at the end.
        items: likewise, with those on the market.
        problems: sentences; none when money and items are conserved.
    """

    way: str
    sellers: int
    buyers: int
    seconds: float
    tally: Tally
    gold: int
    items: int
    problems: tuple[str, ...]

    def as_json(self) -> dict[str, Any]:
        """For scripts."""
        tally = asdict(self.tally)
        del tally["waited_s"]
        return {
            "way": self.way,
            "sellers": self.sellers,
            "buyers": self.buyers,
            "seconds": self.seconds,
            **tally,
            "mean_wait_s": self.tally.mean_wait_s,
            "gold": self.gold,
            "items": self.items,
            "problems": self.problems,
        }
