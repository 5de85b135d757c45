"""The sale from outside: starts its people, adds up their reports, checks the result."""

from __future__ import annotations

import secrets
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import sqlalchemy as sa

from holdfast import Holdfast

from .shop import EACH, EVERY_S, ITEMS, Base, cache_of, left_in, open_shop, sold_in
from .staff import FAILED, PeopleFailed, Staff

READER_PROCESSES = 2
BUYERS = 8
BUY_EVERY_S = 0.02
TICK_S = 0.25
BEGIN_S = 60.0


@dataclass(frozen=True)
class Snapshot:
    """What was done so far in one part of the sale.

    Attributes:
        cached: whether people read the cache.
        seconds: since they read.
        counts: sums by what was done.
    """

    cached: bool
    seconds: float
    counts: Mapping[str, float]

    def per_second(self, what: str) -> float:
        """Return how often it happened per second."""
        return self.counts.get(what, 0) / self.seconds if self.seconds else 0.0

    @property
    def mean_age_s(self) -> float:
        """Return the mean age of the rows that were read."""
        return self.counts.get("age_s", 0) / max(1, self.counts.get("reads", 0))

    @property
    def oldest_s(self) -> float:
        """Return the age of the oldest row that was read."""
        return self.counts.get("oldest_s", 0)

    @property
    def failed(self) -> Mapping[str, int]:
        """Reads that failed, by the name of the error."""
        found = (each for each in self.counts.items() if each[0].startswith(FAILED))
        return {what.removeprefix(FAILED): int(number) for what, number in found}


class Sale:
    """One sale: first with everybody at the database, then with the cache.

    Args:
        server: URL of a Valkey or Redis.
        database: URL of a database.
        readers: how many look at items at once.
        seconds: how long each part lasts.

    Attributes:
        problems: what went wrong, in words.
    """

    def __init__(self, server: str, database: str, *, readers: int, seconds: float) -> None:
        self.problems: list[str] = []
        self._order = {
            "server": server,
            "database": database,
            "namespace": f"fakeshop-{secrets.token_hex(4)}",
        }
        self._readers = readers
        self._seconds = seconds

    def run(self) -> Iterator[Snapshot]:
        """Hold the sale; report progress now and then, and the result of each part at its end."""
        engine = sa.create_engine(self._order["database"])
        try:
            for cached in (False, True):
                open_shop(engine)
                yield from self._part(cached=cached)
                self._check(engine, cached=cached)
        finally:
            Base.metadata.drop_all(engine)
            engine.dispose()

    def _part(self, *, cached: bool) -> Iterator[Snapshot]:
        pace = {"cached": cached, "look_every_s": 0.0, "buy_every_s": BUY_EVERY_S}
        staff = self._staff = Staff({**self._order, **pace})
        if cached:
            self._schedule()
        try:
            staff.hire("buyer", BUYERS)
            for _ in range(READER_PROCESSES):
                staff.hire("reader", self._readers // READER_PROCESSES)
            if cached:
                staff.hire("refresher", 1)
            began = self._begun(staff)
            while (seconds := time.monotonic() - began) < self._seconds:
                yield Snapshot(cached, seconds, staff.counts())
                time.sleep(TICK_S)
                staff.look_after()
            last = Snapshot(cached, time.monotonic() - began, staff.counts())
        finally:
            staff.end()
            self.problems += staff.problems
        yield last

    def _begun(self, staff: Staff) -> float:
        """Wait until there are readers; what was done until then does not count for rates."""
        limit = time.monotonic() + BEGIN_S
        while not staff.counts().get("reads"):
            time.sleep(0.02)
            staff.look_after()
            if time.monotonic() > limit:
                failed = ", ".join(Snapshot(False, 0, staff.counts()).failed) or "no error either"
                raise PeopleFailed(f"no process has read anything for {BEGIN_S:.0f} s: {failed}")
        staff.after_fork()
        return time.monotonic()

    def _schedule(self) -> None:
        engine = sa.create_engine(self._order["database"])
        with Holdfast.from_url(self._order["server"], namespace=self._order["namespace"]) as hf:
            cache_of(hf, engine).schedule_many(dict.fromkeys(range(ITEMS), EVERY_S))
        engine.dispose()

    def _check(self, engine: sa.Engine, *, cached: bool) -> None:
        """Check that sold items are gone from the shelf, and no others."""
        sold, left = int(self._staff.counts().get("sold", 0)), left_in(engine)
        if sold + left != ITEMS * EACH:
            self.problems.append(f"{sold:,} were sold and {left:,} are left of {ITEMS * EACH:,}")
        if (noted := len(sold_in(engine))) != sold:
            self.problems.append(f"{sold:,} were sold, and the ledger has {noted:,}")
        if not cached:
            return
        with Holdfast.from_url(self._order["server"], namespace=self._order["namespace"]) as hf:
            cache = cache_of(hf, engine)
            shown = sum(cache.get(n, max_age=0.0).value["left"] for n in range(ITEMS))
            cache.unschedule(*range(ITEMS))
        if shown != left:
            self.problems.append(f"the cache shows {shown:,} where the database has {left:,}")
