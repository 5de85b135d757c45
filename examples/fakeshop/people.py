"""A process full of people: readers, buyers, or a refresher. `python -m fakeshop.people`.

Its first line says which. It prints what they did, as a line of JSON, and ends with its input.
"""

from __future__ import annotations

import asyncio
import json
import random
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import sqlalchemy as sa
from sqlalchemy.orm import sessionmaker

from holdfast import AsyncHoldfast, Holdfast, HoldfastError

from .shop import ITEMS, Stock, buy, cache_of
from .staff import FAILED

REPORT_S = 0.25
CONNECTIONS = 20
"""Of one process to the database."""


class Tally:
    """What was done since the last report. Sums of single steps are exact enough among threads."""

    def __init__(self) -> None:
        self.counts: dict[str, float] = {}

    def add(self, what: str, number: float = 1) -> None:
        """Count."""
        self.counts[what] = self.counts.get(what, 0) + number

    def top(self, what: str, number: float) -> None:
        """Keep the largest."""
        self.counts[what] = max(self.counts.get(what, 0), number)

    def report(self) -> None:
        """Print the counts, and reset them."""
        counts, self.counts = self.counts, {}
        print(json.dumps(counts), flush=True)


def main() -> None:
    """Do as the first line of the input says."""
    order = json.loads(sys.stdin.readline())
    engine = sa.create_engine(order["database"], pool_size=CONNECTIONS, max_overflow=0)
    tally = Tally()

    def selected(_: Any, __: Any, statement: str, *___: Any) -> None:
        if statement.startswith("SELECT"):
            tally.add("queries")

    sa.event.listen(engine, "before_cursor_execute", selected)
    ended = threading.Event()
    threading.Thread(target=lambda: (sys.stdin.read(), ended.set()), daemon=True).start()
    roles: dict[str, Callable[..., None]] = {
        "reader": read,
        "buyer": shop_around,
        "refresher": refresh,
    }
    roles[order["role"]](order, engine, tally, ended)


def read(order: dict[str, Any], engine: sa.Engine, tally: Tally, ended: threading.Event) -> None:
    """Look at the page of one item after the other, a thousand people at a time."""

    async def people() -> None:
        async with AsyncHoldfast.from_url(order["server"], namespace=order["namespace"]) as hf:
            cache = cache_of(hf, engine)
            pool = ThreadPoolExecutor(CONNECTIONS)
            loop = asyncio.get_running_loop()

            async def look() -> None:
                while not ended.is_set():
                    item = random.randrange(ITEMS)
                    try:
                        if order["cached"]:
                            row = await cache.get(item)
                            tally.add("age_s", row.age or 0.0)
                            tally.top("oldest_s", row.age or 0.0)
                        else:
                            await loop.run_in_executor(pool, _select, engine, item)
                        tally.add("reads")
                    except HoldfastError as error:
                        tally.add(FAILED + type(error).__name__)
                    if order["look_every_s"]:
                        await asyncio.sleep(random.uniform(0, 2 * order["look_every_s"]))

            lookers = [asyncio.create_task(look()) for _ in range(order["people"])]
            while not ended.is_set():
                await asyncio.sleep(REPORT_S)
                tally.report()
            await asyncio.gather(*lookers)
            pool.shutdown()

    asyncio.run(people())


def _select(engine: sa.Engine, item: int) -> int | None:
    with engine.connect() as connection:
        return connection.execute(sa.select(Stock.left).where(Stock.id == item)).scalar()


def shop_around(
    order: dict[str, Any], engine: sa.Engine, tally: Tally, ended: threading.Event
) -> None:
    """Buy something now and then."""
    sessions = sessionmaker(engine)
    with Holdfast.from_url(order["server"], namespace=order["namespace"]) as hf:
        hook = cache_of(hf, engine).invalidate_on_commit(sessions) if order["cached"] else None

        def buyer() -> None:
            while not ended.is_set():
                if buy(sessions, hook, random.randrange(ITEMS)):
                    tally.add("sold")
                time.sleep(random.uniform(0, 2 * order["buy_every_s"]))

        _run_and_report(
            [threading.Thread(target=buyer) for _ in range(order["people"])], tally, ended
        )


def refresh(order: dict[str, Any], engine: sa.Engine, tally: Tally, ended: threading.Event) -> None:
    """Keep the rows fresh; in an app of your own this is `holdfast rows run`."""
    with Holdfast.from_url(order["server"], namespace=order["namespace"]) as hf:
        cache = cache_of(hf, engine)
        thread = threading.Thread(target=cache.run)
        threading.Thread(target=lambda: (ended.wait(), cache.stop()), daemon=True).start()
        _run_and_report([thread], tally, ended)


def _run_and_report(threads: list[threading.Thread], tally: Tally, ended: threading.Event) -> None:
    for thread in threads:
        thread.start()
    while not ended.wait(REPORT_S):
        tally.report()
    for thread in threads:
        thread.join()
    tally.report()  # what was bought while they went home


if __name__ == "__main__":
    main()
