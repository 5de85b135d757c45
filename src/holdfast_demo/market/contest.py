"""The market demo: compare three ways to guard a market, with one, six and ten traders."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from itertools import islice, product
from pathlib import Path
from typing import Annotated, Any, ClassVar, Final

from rich.text import Text

from ..context import DemoContext
from ..demo import Bar, Cell, Demo, DemoFailed, Figures, Grid, Invariant
from ..example_files import example, example_file
from ..options import WRONG_USAGE, number
from .audit import Assets, crafted_items, problems
from .trader import TradeCounts, markets
from .trader_pool import TraderPool

SCHEMES: Final = ("redis://", "rediss://", "unix://")
GUARDS: Final = {
    "watch": "WATCH/MULTI/EXEC",
    "market_lock": "one lock",
    "item_locks": "a lock per item",
}
CROWDS: Final = ((1, 1), (5, 1), (5, 5))
"""Numbers of sellers and buyers in the rounds."""

PURSE: Final = 1_000_000_000
"""Gold of each buyer at the beginning: more than a buyer can spend in a run."""

CROWN, CROWN_PRICE, KING = "Crown of the Drowned King", 10 * PURSE, "king"
"""An item, its price and its seller. It is always on offer, but too expensive for all buyers."""


@dataclass(frozen=True, slots=True)
class MarketRound:
    """Define one round: the guard, and the numbers of sellers and buyers."""

    guard: str
    sellers: int
    buyers: int

    def __str__(self) -> str:
        return f"{self.sellers} × {self.buyers}, {GUARDS[self.guard]}"

    @property
    def players(self) -> tuple[list[str], list[str]]:
        """Return the names of the sellers and of the buyers."""
        return (
            [f"seller{number}" for number in range(1, self.sellers + 1)],
            [f"buyer{number}" for number in range(1, self.buyers + 1)],
        )


@dataclass(frozen=True, slots=True)
class RoundResult:
    """Hold the result of a round.

    Attributes:
        of: the round.
        counts: the sums of what the traders counted.
        gold: gold of all players at the end.
        items: number of items at the end, in bags and on the market.
        problems: sentences about gold and items that were lost or created; empty if none were.
    """

    of: MarketRound
    counts: TradeCounts
    gold: int
    items: int
    problems: tuple[str, ...]

    def cells(self) -> Iterator[Cell]:
        """Yield the cells of the result's row in the table."""
        counts = self.counts
        yield f"{self.of.sellers} × {self.of.buyers}"
        yield GUARDS[self.of.guard]
        yield f"{counts.listed:,}"
        yield Text(f"{counts.bought:,}", "bold" if counts.bought else "bold red")
        yield "-" if counts.mean_wait_s is None else f"{counts.mean_wait_s * 1000:,.1f} ms"
        yield Text(f"{counts.retries:,}", "" if counts.retries else "dim")

    def results(self) -> dict[str, Any]:
        """Return the figures of the round for the JSON report."""
        counts = asdict(self.counts)
        del counts["waited_s"]
        wait = {"mean_wait_s": self.counts.mean_wait_s}
        sums = {"gold": self.gold, "items": self.items, "problems": self.problems}
        return {**asdict(self.of), **counts, **wait, **sums}


ROUNDS: Final = tuple(MarketRound(guard, *crowd) for crowd, guard in product(CROWDS, GUARDS))


@dataclass
class MarketDemo(Demo):
    """Trade items under three kinds of locking, and compare them.

    Sellers list items as fast as they can, and buyers buy any item that they
    see, each in its own process. The market uses WATCH, MULTI and EXEC, then
    one lock for the market, then one lock for each item. Each runs with one
    seller and one buyer, with five and one, and with five and five.

    After each run everything is counted. The exit code is 1 if gold or an item
    vanished or was created, or if one item was sold twice.
    """

    name: ClassVar = "market"
    seconds: Annotated[float, number("--seconds", "Seconds per round", 0.1, 60)] = 2.0
    embedded: Path | None = None
    url: str | None = None

    def check_options(self) -> None:
        """Raise `DemoFailed` for the URL of a cluster."""
        if self.url and not self.url.startswith(SCHEMES):
            message = f"the market needs one server: {' '.join(SCHEMES)}"
            raise DemoFailed(message, code=WRONG_USAGE)

    def start(self, context: DemoContext) -> None:
        """Start the traders. Remove all keys of the market at the end."""
        self._namespace = context.namespace
        self._coming = deque(ROUNDS)
        self._round: MarketRound | None = None
        self._done: list[RoundResult] = []
        context.hf.lock("market").inspect()  # fails if the server is unavailable
        module = example("market.py")
        self._redis = self.opened.enter_context(module.connect(context.url))
        self.opened.callback(self._remove_keys)
        self._markets = markets(module, self._redis, context.hf)
        # Start as many traders as the largest round needs. In smaller rounds some of them wait.
        size = max(each.sellers + each.buyers for each in ROUNDS)
        pool = TraderPool(size, example_file("market.py"), context.url, context.namespace)
        self._pool = self.opened.enter_context(pool)
        self._pool.connect()

    def poll(self) -> bool:
        if self._round is not None:
            counts = self._pool.counts()
            if counts is None:
                return True
            self._done.append(self._audited(self._round, counts))
        self._round = self._coming.popleft() if self._coming else None
        if self._round is not None:
            self._begin(self._round)
        return self._round is not None

    def line(self) -> str:
        last = self._done[-1:]
        done = "".join(f"{each.of}: {each.counts.bought:,} bought; " for each in last)
        return f"{done}{self._round}: {self.seconds:g} s" if self._round else done

    def figures(self) -> Figures:
        done = len(self._done)
        bars = [Bar("rounds", done, len(ROUNDS), str(self._round or ""))]
        return Figures(bars=bars, grids=self._grids())

    def final_figures(self) -> Figures:
        gone, dear = (
            sum(getattr(each.counts, name) for each in self._done) for name in ("gone", "too_dear")
        )
        notes = [
            ("each round", f"{self.seconds:g} s; refused in all: {gone:,} gone, {dear:,} too dear"),
            ("wait", "from the decision to buy to its result"),
            ("retry", "a transaction undone by the change of another client, and repeated"),
        ]
        return Figures(grids=self._grids(), notes=notes)

    def invariants(self) -> Iterator[Invariant]:
        """Yield for each guard whether no gold and no items were lost or created."""
        for guard, label in GUARDS.items():
            done = [each for each in self._done if each.of.guard == guard]
            found = tuple(f"{each.of}: {problem}" for each in done for problem in each.problems)
            promise = f"{label}: gold and items are conserved"
            if done:
                items = sum(each.items for each in done)
                yield Invariant("locks", promise, items, "items", found)

    def results(self) -> dict[str, Any]:
        return {"seconds": self.seconds, "runs": [each.results() for each in self._done]}

    def _grids(self) -> list[Grid]:
        columns = ("sellers × buyers", "guarded by", "listed", "bought", "mean wait", "retries")
        return [Grid(columns, [[*each.cells()] for each in self._done], left=("guarded by",))]

    def _market(self, this: MarketRound) -> Any:
        """Return the market of a round. All its keys are in one slot."""
        crowd = f"{this.sellers}x{this.buyers}"
        return self._markets[this.guard](f"{self._namespace}:{{market:{this.guard}:{crowd}}}")

    def _begin(self, this: MarketRound) -> None:
        market = self._market(this)
        sellers, buyers = this.players
        market.redis.mset({market.purse(buyer): PURSE for buyer in buyers})
        market.redis.sadd(market.bag(KING), CROWN)
        market.list_item(KING, CROWN, CROWN_PRICE)
        order = {"guard": this.guard, "prefix": market.prefix, "seconds": self.seconds}
        self._pool.start_round(sellers, buyers, order)

    def _audited(self, this: MarketRound, each: list[TradeCounts]) -> RoundResult:
        sellers, buyers = this.players
        assets = Assets.read(self._market(this), [KING, *sellers, *buyers])
        items = {CROWN, *crafted_items(sellers, each)}
        counts, gold = TradeCounts.together(each), PURSE * len(buyers)
        found = problems(assets, counts, gold=gold, items=items, buyers=buyers)
        return RoundResult(this, counts, assets.total_gold, assets.items.total(), tuple(found))

    def _remove_keys(self) -> None:
        keys = self._redis.scan_iter(f"{self._namespace}:*", count=1000)
        while some := list(islice(keys, 1000)):
            self._redis.unlink(*some)
