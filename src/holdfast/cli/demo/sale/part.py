"""The shop as a part of the world: everybody reads the cache, and the database decides."""

from __future__ import annotations

import random
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from types import ModuleType
from typing import Any, ClassVar, Final, NamedTuple

from .... import CachedRow
from ..examples import example_file, load_example
from ..patience import insist
from ..world.ground import NAMESPACE, Ground
from ..world.part import Fault, Part, Verdict, until

READERS: Final = 20
BUYERS: Final = 3
REFRESHERS: Final = 2
LOOK_EVERY_S: Final = 0.2
BUY_EVERY_S: Final = 0.6
PROBE_EVERY_S: Final = 0.5


class Probe(NamedTuple):
    """A row that was invalidated and read again.

    Attributes:
        item: its id.
        left: what the database had before it was invalidated; it has never more afterwards.
        shown: what the cache showed then.
    """

    item: int
    left: int
    shown: int


class Shop(Part):
    """Readers, buyers and refreshers, for as long as the world lasts."""

    name: ClassVar = "shop"

    def __init__(self, ground: Ground) -> None:
        import sqlalchemy as sa

        super().__init__()
        self._hf = ground.hf
        self._example: ModuleType = load_example(example_file("fakeshop/__init__.py"))
        self.shop: Any = self._example.shop
        self.engine = sa.create_engine(ground.database)
        self._cache = self.shop.cache_of(ground.hf, self.engine)
        self._staff: Any = self._example.Staff(
            {
                "server": ground.url,
                "database": ground.database,
                "namespace": NAMESPACE,
                "cached": True,
                "look_every_s": LOOK_EVERY_S,
                "buy_every_s": BUY_EVERY_S,
            }
        )
        self._dice = random.Random(ground.seed)
        self._probes: list[Probe] = []
        self._next_probe_s = 0.0

    def begin(self) -> None:
        """Fill the shelves, and let people in."""
        self.opened.callback(self.engine.dispose)
        self.opened.callback(self._staff.end)
        self.shop.open_shop(self.engine)
        self._cache.schedule_many(dict.fromkeys(range(self.shop.ITEMS), self.shop.EVERY_S))
        for _ in range(REFRESHERS):
            self._staff.hire("refresher", 1)
        self._staff.hire("reader", READERS)
        self._staff.hire("buyer", BUYERS)

    def look(self) -> None:
        """See whether all are at work, and try what invalidating does."""
        self._staff.look_after()
        now_s = time.monotonic()
        if now_s >= self._next_probe_s:
            self._next_probe_s = now_s + PROBE_EVERY_S
            self._probe(self._dice.randrange(self.shop.ITEMS))

    def told(self) -> str:
        """What people did."""
        counts = self._staff.told()
        reads, sold, asked = (int(counts.get(what, 0)) for what in ("reads", "sold", "queries"))
        return f"{reads:,} reads, {asked:,} SELECTs, {sold:,} sold"

    def faults(self) -> Sequence[Fault]:
        """A refresher is killed; the other one goes on, and so does its successor."""
        return [Fault("refresher", partial(self._staff.replace, "refresher"))]

    def pids(self) -> Mapping[str, int]:
        """Its processes at the moment, by name."""
        pids: dict[str, int] = self._staff.pids()
        return pids

    def finish(self) -> Iterator[None]:
        """Send the buyers home, and wait until the refreshers have caught up."""
        yield from until(lambda: bool(self.shop.sold_in(self.engine)))  # on a slow machine
        self._staff.end("buyer")
        yield from until(lambda: not list(differing(self._stock(), self._shown())))

    def verdicts(self) -> Iterator[Verdict]:
        """From the database, asked directly."""
        shop = self.shop
        stock, shown, ledger = self._stock(), self._shown(), shop.sold_in(self.engine)
        problems = tuple(differing(stock, shown))
        yield Verdict("row cache", "rows are as in the database", len(stock), "rows", problems)
        yield never_older(self._probes)
        everything = shop.ITEMS * shop.EACH
        yield balanced(everything, sum(stock.values()), len(ledger), self._staff.problems)

    def _probe(self, item: int) -> None:
        left = self._stock()[item]
        insist(partial(self._cache.invalidate, item))
        row: CachedRow = insist(partial(self._cache.get, item))
        if row:
            self._probes.append(Probe(item, left, row.value["left"]))

    def _stock(self) -> dict[int, int]:
        """By item, what the database has."""
        import sqlalchemy as sa

        stock = self.shop.Stock
        with self.engine.connect() as connection:
            rows = connection.execute(sa.select(stock.id, stock.left)).all()
        return {item: left for item, left in rows}  # noqa: C416  (rows are no pairs to a checker)

    def _shown(self) -> dict[int, int]:
        """By item, what those see who can only read the cache."""
        reader = self._hf.row_cache(self._cache.name)
        rows = insist(partial(reader.get_many, range(self.shop.ITEMS)))
        return {int(str(item)): row.value["left"] for item, row in rows.items() if row}


def differing(stock: Mapping[int, int], shown: Mapping[int, int]) -> Iterator[str]:
    """Rows of the cache that are not as in the database, in sentences."""
    for item, left in stock.items():
        if shown.get(item) != left:
            yield f"the cache shows {shown.get(item)} of item {item}, the database has {left}"


def never_older(probes: Iterable[Probe]) -> Verdict:
    """Whether nothing was shown that was read before it was invalidated: stocks only fall."""
    probes = list(probes)
    problems = tuple(
        f"item {probe.item} was invalidated when {probe.left} were left, and showed {probe.shown}"
        for probe in probes
        if probe.shown > probe.left
    )
    promise = "what was invalidated is read anew"
    return Verdict("row cache", promise, len(probes), "rows", problems)


def balanced(everything: int, left: int, sold: int, problems: Sequence[str]) -> Verdict:
    """Whether what is gone from the shelf is in the ledger, and nothing else is."""
    found = list(problems)
    if left + sold != everything:
        found.append(f"{sold:,} were sold and {left:,} are left of {everything:,}")
    return Verdict("shop", "what is sold is gone, nothing else", sold, "sales", tuple(found))
