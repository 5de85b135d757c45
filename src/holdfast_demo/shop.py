"""The shop in the world demo: readers use the row cache, buyers the database."""

from __future__ import annotations

import random
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, ClassVar, Final, NamedTuple

from holdfast import CachedRow

from .context import DemoContext
from .demo import Demo, Invariant, ProcessFault, until
from .example_files import example
from .retries import retried

READERS: Final = 20
BUYERS: Final = 3
REFRESHERS: Final = 2
LOOK_EVERY_S: Final = 0.2
BUY_EVERY_S: Final = 0.6
INVALIDATE_EVERY_S: Final = 0.5


class InvalidatedRow(NamedTuple):
    """Record a row that was invalidated and read again.

    Attributes:
        item: id of the row.
        left: stock in the database before; it is never higher afterwards.
        shown: stock that the cache returned afterwards.
    """

    item: int
    left: int
    shown: int


class ShopDemo(Demo):
    """Sell items of a database, with readers and refreshers of a row cache, and buyers.

    Args:
        database: URL of the database.

    Attributes:
        shop: the module `shop` of the example.
        engine: SQLAlchemy engine of the database.
    """

    name: ClassVar = "shop"

    def __init__(self, database: str) -> None:
        self._database = database

    def start(self, context: DemoContext) -> None:
        """Fill the database and start the readers, buyers and refreshers."""
        import sqlalchemy as sa

        module = example("fakeshop/__init__.py")
        self.shop: Any = module.shop
        self.engine = sa.create_engine(self._database)
        self.opened.callback(self.engine.dispose)
        self._hf = context.hf
        self._cache = self.shop.cache_of(context.hf, self.engine)
        self._staff: Any = module.Staff(
            {
                "server": context.url,
                "database": self._database,
                "namespace": context.namespace,
                "cached": True,
                "look_every_s": LOOK_EVERY_S,
                "buy_every_s": BUY_EVERY_S,
            }
        )
        self._dice = random.Random(context.seed)
        self._invalidated: list[InvalidatedRow] = []
        self._next_s = 0.0
        self.opened.callback(self._staff.end)
        self.shop.open_shop(self.engine)
        self._cache.schedule_many(dict.fromkeys(range(self.shop.ITEMS), self.shop.EVERY_S))
        for _ in range(REFRESHERS):
            self._staff.hire("refresher", 1)
        self._staff.hire("reader", READERS)
        self._staff.hire("buyer", BUYERS)

    def poll(self) -> bool:
        self._staff.look_after()
        now_s = time.monotonic()
        if now_s >= self._next_s:
            self._next_s = now_s + INVALIDATE_EVERY_S
            self._invalidate(self._dice.randrange(self.shop.ITEMS))
        return True

    def finish(self) -> Iterator[None]:
        """Wait for a sale, stop the buyers, and wait until the cache is up to date."""
        yield from until(lambda: bool(self.shop.sold_in(self.engine)))
        self._staff.end("buyer")
        yield from until(lambda: not list(differing(self._stock(), self._shown())))

    def line(self) -> str:
        counts = self._staff.counts()
        reads, sold, asked = (int(counts.get(what, 0)) for what in ("reads", "sold", "queries"))
        return f"{reads:,} reads from the cache, {asked:,} SELECTs to keep it fresh, {sold:,} sold"

    def invariants(self) -> Iterator[Invariant]:
        """Compare the cache and the ledger with the database."""
        shop = self.shop
        stock, shown, ledger = self._stock(), self._shown(), shop.sold_in(self.engine)
        problems = tuple(differing(stock, shown))
        yield Invariant("row cache", "rows are as in the database", len(stock), "rows", problems)
        yield never_older(self._invalidated)
        everything = shop.ITEMS * shop.EACH
        yield balanced(everything, sum(stock.values()), len(ledger), self._staff.problems)

    def faults(self) -> Sequence[ProcessFault]:
        """Kill a refresher. The other one, and a new one, continue."""
        return [ProcessFault("refresher", partial(self._staff.replace, "refresher"))]

    def pids(self) -> Mapping[str, int]:
        pids: dict[str, int] = self._staff.pids()
        return pids

    def _invalidate(self, item: int) -> None:
        left = self._stock()[item]
        retried(partial(self._cache.invalidate, item))
        row: CachedRow = retried(partial(self._cache.get, item))
        if row:
            self._invalidated.append(InvalidatedRow(item, left, row.value["left"]))

    def _stock(self) -> dict[int, int]:
        """Return item → stock in the database."""
        import sqlalchemy as sa

        stock = self.shop.Stock
        with self.engine.connect() as connection:
            rows = connection.execute(sa.select(stock.id, stock.left)).all()
        return {item: left for item, left in rows}  # noqa: C416  (rows are no pairs to a checker)

    def _shown(self) -> dict[int, int]:
        """Return item → stock in the cache, read without a source."""
        reader = self._hf.row_cache(self._cache.name)
        rows = retried(partial(reader.get_many, range(self.shop.ITEMS)))
        return {int(str(item)): row.value["left"] for item, row in rows.items() if row}


def differing(stock: Mapping[int, int], shown: Mapping[int, int]) -> Iterator[str]:
    """Yield a sentence for each row of the cache that differs from the database."""
    for item, left in stock.items():
        if shown.get(item) != left:
            yield f"the cache shows {shown.get(item)} of item {item}, the database has {left}"


def never_older(rows: Iterable[InvalidatedRow]) -> Invariant:
    """Check that no read after an invalidation returned older data: a higher stock."""
    rows = list(rows)
    problems = tuple(
        f"item {row.item} was invalidated when {row.left} were left, and showed {row.shown}"
        for row in rows
        if row.shown > row.left
    )
    promise = "an invalidated row is read again"
    return Invariant("row cache", promise, len(rows), "rows", problems)


def balanced(everything: int, left: int, sold: int, problems: Sequence[str]) -> Invariant:
    """Check that the ledger has exactly the items that are missing in the stock."""
    found = list(problems)
    if left + sold != everything:
        found.append(f"{sold:,} were sold and {left:,} are left of {everything:,}")
    return Invariant("shop", "what is sold is gone, nothing else", sold, "sales", tuple(found))
