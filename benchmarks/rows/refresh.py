"""Rows that are due are loaded and stored."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing
from typing import Final

import redis
import sqlalchemy as sa

from holdfast import Holdfast, RowCache, SqlRows

from ..harness import BenchmarkRun, Case
from ..report import Table
from . import textbook
from .bare import BareRefresher
from .database import ROWS, STOCK, change_all, postgresql, sqlite

COUNT: Final = 10_000
TEXTBOOK_PART: Final = 0.02
"""It would take too long with as many."""

NEW_PART: Final = ROWS / COUNT
"""Each row is new once."""

TARGET: Final = 25.0
EVERY_S: Final = 0.01
"""Rows are always due."""


def run(bench: BenchmarkRun) -> Iterator[Table]:
    """Batches, beside the textbook's loop: all rows changed, and none."""
    with sqlite() as engine:
        yield _table(bench, "SQLite", engine)
    with postgresql() as engine:
        if engine is not None:
            yield _table(bench, "PostgreSQL", engine)


def _table(bench: BenchmarkRun, kind: str, engine: sa.Engine) -> Table:
    bench.server.clear()
    with (
        Holdfast.from_url(bench.server.url, namespace="benchmarks") as hf,
        redis.Redis.from_url(bench.server.url, decode_responses=True) as client,
        closing(BareRefresher(bench.server.url, engine, range(ROWS))) as bare,
    ):
        cache = hf.row_cache("stock", source=SqlRows(engine, STOCK, key="id"))
        cache.schedule_many(dict.fromkeys(range(ROWS), EVERY_S))
        for n in range(ROWS):
            textbook.schedule(client, n, EVERY_S)

        def forget(_: int) -> None:
            for start in range(0, ROWS, 500):
                cache.invalidate(*range(start, start + 500))

        def change(_: int) -> None:
            change_all(engine)

        ours = Case("holdfast, all changed", _refresh(cache), change)
        return bench.compared(
            f"refresh rows of {kind}, one process",
            ours,
            [
                Case(
                    "textbook",
                    lambda count: textbook.refresh(client, engine, count),
                    change,
                    TEXTBOOK_PART,
                ),
                Case("holdfast, unchanged", _refresh(cache)),
                Case("holdfast, new", _refresh(cache), forget, NEW_PART),
                Case("bare connection", bare.refresh, change),
            ],
            COUNT,
            target=TARGET,
        )


def _refresh(cache: RowCache) -> Callable[[int], None]:
    def refresh(count: int) -> None:
        while count > 0:
            count -= cache.refresh_due().selected

    return refresh
