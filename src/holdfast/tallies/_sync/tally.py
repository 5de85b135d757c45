# Generated from _async/tally.py by tools/unasync.py: edit that, then run `make sync`.
"""How many lines there were, of each day and of each value of each dimension."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date
from functools import partial
from typing import Any

from ...core._sync.caller import Caller
from ...core._sync.catalog import Catalog
from ...core.names import Unit
from ...core.stored import decoding
from .. import keys
from ..choice import counter_of
from ..counted import SAMPLES, Counted
from ..days import MAX_DAYS, given_day
from ..geo.key import GeoKey
from ..limits import MAX_LIMIT, checked_limit
from ..parts import counts_of, dimensions_of, rejects_of
from ..report import Change, Count, Rejected, TallyReport
from .aggregation import Reading
from .source_file import Source
from .writer import Book


class Tally:
    """Counts of lines by day and dimension, such as country, region and city.

    Each line of each file is counted exactly once, whoever is killed. All is kept for 400 days
    after it last changed.

    Made by `Holdfast.tally`.
    """

    def __init__(self, caller: Caller, catalog: Catalog, unit: Unit) -> None:
        self._caller = caller
        self._catalog = catalog
        self._unit = unit
        self._book = Book(caller, unit)

    def __repr__(self) -> str:
        return f"Tally({self._unit.name!r})"

    def aggregate(
        self,
        source: Source,
        *,
        key: GeoKey | Callable[[bytes], Counted | None],
        progress: Callable[[TallyReport], object] | None = None,
    ) -> TallyReport:
        """Count all lines of all files of *source*, until there are no more.

        What is counted is committed every few seconds, or when it is much, and at the end of each
        file; only then the source may forget it. After a crash the same call goes on where the last
        commit ended, here or elsewhere.

        Args:
            source: the consumer of a feed, or `LocalFiles`.
            key: a `GeoKey`, or a function of a line without its end, which says what it counts for.
                A line of which it says None, or raises, is rejected.
            progress: is told after each block of lines how far this is: the report, with what was
                read since the last commit.

        Raises:
            ServerUnavailable: what was not committed is not counted; call again.
        """
        counter_of(key)
        if not hasattr(source, "files") or isinstance(source, type) or hasattr(source, "consumer"):
            raise TypeError(f"expected feed.consumer(…) or LocalFiles(…), got {source!r}")
        self._catalog.note(self._unit)
        self._book.settle()
        counter = partial(counter_of, key)
        reading = Reading(self._caller, self._unit, self._book, counter, progress)
        return reading.run(source)

    def total(self, day: str | date) -> int:
        """How many lines of *day* are counted."""
        text = given_day(day)
        self._book.settle()
        return self._score(keys.days(self._unit), text)

    def days(self) -> dict[str, int]:
        """The days that have lines, in order, and how many."""
        self._book.settle()
        return dict(sorted((self._best(keys.days(self._unit), MAX_DAYS)).items()))

    def dimensions(self, day: str | date) -> dict[str, int]:
        """The dimensions of *day*, and how many lines have any value of each; most lines first."""
        place = keys.sums(self._unit, dimensions_of(given_day(day)))
        self._book.settle()
        return self._best(place, MAX_LIMIT)

    def top(self, dimension: str, *, day: str | date, limit: int = 10) -> list[Count]:
        """The values of *dimension* that most lines of *day* have, the most frequent first.

        Args:
            dimension: such as `country`.
            day: as in `2011-10-10`.
            limit: how many values, up to 10,000.
        """
        place, most = self._sums(day, dimension), checked_limit(limit)
        self._book.settle()
        best = self._best(place, most)
        return [Count(value, lines) for value, lines in best.items()]

    def count(self, dimension: str, value: str, *, day: str | date) -> int:
        """How many lines of *day* have that *value* of *dimension*."""
        place = self._sums(day, dimension)
        if not isinstance(value, str):
            raise TypeError(f"value must be a str, got {type(value).__name__}")
        self._book.settle()
        return self._score(place, value)

    def share_of(self, dimension: str, value: str, *, day: str | date) -> float:
        """Which part of the lines of *day* that is, 0 to 1; 0 where the day has none."""
        lines = self.count(dimension, value, day=day)
        total = self.total(day) if lines else 0
        return lines / total if total else 0.0

    def compare(
        self, before: str | date, after: str | date, *, dimension: str, limit: int = 10
    ) -> list[Change]:
        """What is among the first of either day, and how often it came on both.

        Args:
            before: the one day.
            after: the other; the most frequent values of it come first.
            dimension: such as `country`.
            limit: values of each day, up to 10,000.
        """
        places = [self._sums(day, dimension) for day in (before, after)]
        most = checked_limit(limit)
        self._book.settle()
        found = [self._best(place, most) for place in places]
        values = list(dict.fromkeys([*found[1], *found[0]]))
        both = [self._scores(place, values) for place in places]
        changes = [Change(*each) for each in zip(values, *both, strict=True)]
        return sorted(changes, key=lambda change: (-change.after, -change.before, change.value))

    def rejected(self, day: str | date | None = None) -> Rejected:
        """Lines of *day* that count for nothing, and why.

        Args:
            day: as in `2011-10-10`; None: those whose day could not be read, or cannot be right.
        """
        text = "" if day is None else given_day(day)
        self._book.settle()
        reasons = self._best(keys.sums(self._unit, rejects_of(text)), MAX_LIMIT)
        place = keys.samples(self._unit, text)
        with decoding(place):
            samples = self._caller.read(self._unit, "ZRANGE", place, 0, SAMPLES - 1)
        return Rejected(reasons, samples)

    def _sums(self, day: str | date, dimension: str) -> str:
        return keys.sums(self._unit, counts_of(given_day(day), dimension))

    def _score(self, place: str, value: str) -> int:
        [score] = self._scores(place, [value])
        return score

    def _scores(self, place: str, values: list[str]) -> list[int]:
        if not values:
            return []
        with decoding(place):
            reply = self._caller.read(self._unit, "ZMSCORE", place, *values)
            return [0 if score is None else int(float(score)) for score in reply]

    def _best(self, place: str, limit: int) -> dict[str, int]:
        """The values with the highest counts, the highest first."""
        command: list[Any] = ["ZRANGE", place, 0, limit - 1, "REV", "WITHSCORES"]
        with decoding(place):
            flat = self._caller.read(self._unit, *command)
            values = (value.decode(errors="replace") for value in flat[::2])
            return dict(zip(values, (int(float(score)) for score in flat[1::2]), strict=True))
