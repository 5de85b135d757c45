# Generated from _async/tally.py by tools/unasync.py: edit that, then run `make sync`.
"""Provide the public class of tallies: count the lines of each day, and of each value in it."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date
from functools import partial
from typing import Any, Final

from ...core._sync.caller import Caller
from ...core._sync.catalog import Catalog
from ...core.checks import checked_int
from ...core.names import Unit
from ...core.stored import decoding
from .. import keys
from ..chunks import dimensions_of, rejected_of, values_of
from ..counted import SAMPLES, Counted, LineCounter
from ..days import MAX_DAYS, checked_day
from ..function_counter import FunctionCounter
from ..geo.key import GeoKey
from ..report import Change, Count, Rejected, TallyReport
from .aggregation import Aggregation
from .source_file import Source
from .writer import TallyWriter

MAX_LIMIT: Final = 10_000
"""Maximum number of values in one reply of the server."""


class Tally:
    """Count lines by day and dimension, such as country, region and city.

    Each line of each file is counted exactly once, even if processes are killed. Counts are kept
    for 400 days after their last change.

    Made by `Holdfast.tally`.
    """

    def __init__(self, caller: Caller, catalog: Catalog, unit: Unit) -> None:
        self._caller = caller
        self._catalog = catalog
        self._unit = unit
        self._writer = TallyWriter(caller, unit)

    def __repr__(self) -> str:
        return f"Tally({self._unit.name!r})"

    def aggregate(
        self,
        source: Source,
        *,
        key: GeoKey | Callable[[bytes], Counted | None],
        progress: Callable[[TallyReport], object] | None = None,
    ) -> TallyReport:
        """Count all lines of all files of *source*, until the source has no more files.

        Counts are committed every few seconds, when many counts are in memory, and at the end of
        each file. Lines are acknowledged to the source only after their commit. After a crash, the
        same call continues where the last commit ended, in this process or in another one.

        Args:
            source: the consumer of a feed, or `LocalFiles`.
            key: a `GeoKey`, or a function that gets a line without its line end and returns a
                `Counted`. If it returns None or raises an exception, the line is rejected.
            progress: called after each block of lines with the report so far. This report includes
                lines that were counted since the last commit.

        Raises:
            ServerUnavailable: lines that were not committed are not counted. Repeat the call.
        """
        new_counter = _counters_for(key)
        if not hasattr(source, "files") or isinstance(source, type) or hasattr(source, "consumer"):
            raise TypeError(f"expected feed.consumer(…) or LocalFiles(…), got {source!r}")
        self._catalog.note(self._unit)
        self._writer.settle()
        aggregation = Aggregation(self._caller, self._unit, self._writer, new_counter, progress)
        return aggregation.run(source)

    def total(self, day: str | date) -> int:
        """Return the number of lines counted for *day*."""
        text = checked_day(day)
        self._writer.settle()
        return self._lines_with(keys.days(self._unit), text)

    def days(self) -> dict[str, int]:
        """Return day → number of lines, for the days that have lines, in order."""
        self._writer.settle()
        return dict(sorted((self._most_frequent(keys.days(self._unit), MAX_DAYS)).items()))

    def dimensions(self, day: str | date) -> dict[str, int]:
        """Return the number of lines of *day* that have a value in each dimension, the highest
        number first."""
        counts_key = keys.counts(self._unit, dimensions_of(checked_day(day)))
        self._writer.settle()
        return self._most_frequent(counts_key, MAX_LIMIT)

    def top(self, dimension: str, *, day: str | date, limit: int = 10) -> list[Count]:
        """Return the most frequent values of *dimension* on *day*, the most frequent first.

        Args:
            dimension: for example `country`.
            day: for example `2011-10-10`.
            limit: maximum number of values, up to 10,000.
        """
        counts_key, most = self._values_key(day, dimension), _checked_limit(limit)
        self._writer.settle()
        found = self._most_frequent(counts_key, most)
        return [Count(value, lines) for value, lines in found.items()]

    def count(self, dimension: str, value: str, *, day: str | date) -> int:
        """Return how many lines of *day* have this *value* of *dimension*."""
        counts_key = self._values_key(day, dimension)
        if not isinstance(value, str):
            raise TypeError(f"value must be a str, got {type(value).__name__}")
        self._writer.settle()
        return self._lines_with(counts_key, value)

    def share_of(self, dimension: str, value: str, *, day: str | date) -> float:
        """Return the share of the lines of *day* that have this *value* of *dimension*, from 0 to
        1; 0 if the day has no lines."""
        lines = self.count(dimension, value, day=day)
        total = self.total(day) if lines else 0
        return lines / total if total else 0.0

    def compare(
        self, before: str | date, after: str | date, *, dimension: str, limit: int = 10
    ) -> list[Change]:
        """Return the most frequent values of two days, each with its number of lines on both days.

        The values are sorted by their lines on the day *after*, the highest number first.

        Args:
            before: one day.
            after: the other day.
            dimension: for example `country`.
            limit: maximum number of values of each day, up to 10,000.
        """
        counts_keys = [self._values_key(day, dimension) for day in (before, after)]
        most = _checked_limit(limit)
        self._writer.settle()
        found = [self._most_frequent(counts_key, most) for counts_key in counts_keys]
        values = list(dict.fromkeys([*found[1], *found[0]]))
        both = [self._lines(counts_key, values) for counts_key in counts_keys]
        changes = [Change(*each) for each in zip(values, *both, strict=True)]
        return sorted(changes, key=lambda change: (-change.after, -change.before, change.value))

    def rejected(self, day: str | date | None = None) -> Rejected:
        """Return how many lines of *day* were rejected, and why.

        Args:
            day: for example `2011-10-10`; None: lines without a valid day.
        """
        text = "" if day is None else checked_day(day)
        self._writer.settle()
        reasons = self._most_frequent(keys.counts(self._unit, rejected_of(text)), MAX_LIMIT)
        samples_key = keys.samples(self._unit, text)
        with decoding(samples_key):
            samples = self._caller.read(self._unit, "ZRANGE", samples_key, 0, SAMPLES - 1)
        return Rejected(reasons, samples)

    def _values_key(self, day: str | date, dimension: str) -> str:
        return keys.counts(self._unit, values_of(checked_day(day), dimension))

    def _lines_with(self, counts_key: str, value: str) -> int:
        [lines] = self._lines(counts_key, [value])
        return lines

    def _lines(self, counts_key: str, values: list[str]) -> list[int]:
        """Return the number of lines of each of *values* in the counts at *counts_key*."""
        if not values:
            return []
        with decoding(counts_key):
            reply = self._caller.read(self._unit, "ZMSCORE", counts_key, *values)
            return [0 if score is None else int(float(score)) for score in reply]

    def _most_frequent(self, counts_key: str, limit: int) -> dict[str, int]:
        """Return the *limit* values with the most lines in *counts_key*, and their lines."""
        command: list[Any] = ["ZRANGE", counts_key, 0, limit - 1, "REV", "WITHSCORES"]
        with decoding(counts_key):
            flat = self._caller.read(self._unit, *command)
            values = (value.decode(errors="replace") for value in flat[::2])
            return dict(zip(values, (int(float(score)) for score in flat[1::2]), strict=True))


def _counters_for(
    key: GeoKey | Callable[[bytes], Counted | None],
) -> Callable[[], LineCounter]:
    """Return a function that returns a new counter for *key*.

    Raises:
        TypeError: *key* is neither a `GeoKey` nor a function.
    """
    if isinstance(key, GeoKey):
        from ..geo.geo_counter import GeoCounter
        from ..geo.known_addresses import KnownAddresses

        return partial(GeoCounter, key, KnownAddresses())
    if not callable(key):
        raise TypeError(f"key must be a GeoKey or a function of a line, got {key!r}")
    return partial(FunctionCounter, key)


def _checked_limit(limit: Any) -> int:
    return checked_int(limit, "limit", 1, MAX_LIMIT)
