"""The sale demo: readers ask the database, then the row cache."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, ClassVar

import typer

from .context import DemoContext
from .demo import Demo, DemoFailed, Figures, Grid, Invariant
from .example_files import example
from .options import WRONG_USAGE, Seconds, number


@dataclass
class SaleDemo(Demo):
    """Hold a flash sale: first on the database, then on the row cache.

    Thousands of readers ask how many of fifty items are left while buyers buy
    them. It shows reads and SELECTs per second, and the age of the rows that
    readers get. The database is a PostgreSQL server of its own (extra `bench`),
    a SQLite file if that is not installed, or yours.

    At the end the items are counted. The exit code is 1 if more was sold than
    there was, or if the cache and the database differ.
    """

    name: ClassVar = "sale"
    readers: Annotated[int, number("--readers", "Number of readers", 2, 20_000)] = 2000
    seconds: Seconds = 10.0
    database: Annotated[
        str | None,
        typer.Option("--database", metavar="URL", help="Your database, as a URL of SQLAlchemy."),
    ] = None
    embedded: Path | None = None
    url: str | None = None

    def start(self, context: DemoContext) -> None:
        """Open the database and the shop."""
        module = example("fakeshop/__init__.py")
        self._shop: Any = module.shop
        self._database: str = self.opened.enter_context(module.database(self.database))
        options = {"readers": self.readers, "seconds": self.seconds}
        with _database_errors():
            self._sale: Any = module.Sale(context.url, self._database, **options)
            self._snapshots: Generator[Any] = self._sale.run()
        self._phases: dict[bool, Any] = {}
        self.opened.callback(self._snapshots.close)

    def poll(self) -> bool:
        with _database_errors():
            now = next(self._snapshots, None)
        if now is not None:
            self._phases[now.cached] = now
        return now is not None

    def line(self) -> str:
        return " · ".join(self._cells(self._phases[max(self._phases)])) if self._phases else ""

    def figures(self) -> Figures:
        columns = ("readers ask", "time", "reads", "SELECTs", "in all", "sold", "age of rows")
        rows = [self._cells(phase) for phase in self._phases.values()]
        failed = [
            ("failed", f"reads with {error}: {number:,}")
            for phase in self._phases.values()
            for error, number in phase.failed.items()
        ]
        return Figures(notes=failed, grids=[Grid(columns, rows)])

    def invariants(self) -> Iterator[Invariant]:
        """Compare the sold items with the stock, the ledger and the cache."""
        items = len(self._phases) * self._shop.ITEMS * self._shop.EACH
        problems = tuple(self._sale.problems)
        yield Invariant("shop", "what is sold is gone, nothing else", items, "items", problems)

    def results(self) -> dict[str, Any]:
        return {"parts": [_rates(phase) for phase in self._phases.values()]}

    def introduction(self) -> str:
        kind = self._database.partition(":")[0].partition("+")[0]
        return f"{self.readers:,} readers, some buyers, 50 items in {kind}"

    def _cells(self, phase: Any) -> list[str]:
        rates = _rates(phase)
        age = f"{rates['mean_age_s']:.2f} s, ≤ {rates['oldest_s']:.2f} s"
        return [
            "the row cache" if phase.cached else "the database",
            f"{phase.seconds:.0f} s",
            f"{rates['reads_per_s']:,.0f}/s",
            f"{rates['selects_per_s']:,.0f}/s",
            f"{phase.counts.get('queries', 0):,.0f}",
            f"{rates['sold_per_s']:,.0f}/s",
            age if phase.cached else "0",
        ]


@contextmanager
def _database_errors() -> Iterator[None]:
    """Raise errors of the database as `DemoFailed`."""
    from sqlalchemy.exc import ArgumentError, DBAPIError, NoSuchModuleError

    try:
        yield
    except (ArgumentError, DBAPIError, NoSuchModuleError, ModuleNotFoundError) as error:
        message = f"the database cannot be used: {error}"
        raise DemoFailed(message, code=WRONG_USAGE) from error


def _rates(phase: Any) -> dict[str, Any]:
    sold = phase.counts.get("sold", 0) - phase.counts.get("sold before", 0)
    return {
        "cached": phase.cached,
        "seconds": phase.seconds,
        "reads_per_s": phase.per_second("reads"),
        "selects_per_s": phase.per_second("queries"),
        "sold_per_s": sold / phase.seconds if phase.seconds else 0.0,
        "mean_age_s": phase.mean_age_s,
        "oldest_s": phase.oldest_s,
        "failed": dict(phase.failed),
    }
