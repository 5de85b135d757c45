"""Count lines by location: large blocks column by column, small blocks line by line.

In columns, lines with the same address and day are counted together, before the address is looked
up.
`python -m benchmarks tallies` measures the speed.
"""

from __future__ import annotations

from collections.abc import Callable
from io import BytesIO
from itertools import islice
from typing import Final, Literal

import polars as pl

from ..counted import FAR_DAY, MALFORMED, NO_ADDRESS, NO_DAY, OVERLONG, SAMPLES, LineCounts
from ..days import DayRange, iso_day
from .geo_data import GeoData
from .key import GeoKey
from .known_addresses import KnownAddresses
from .small_block import SMALL_BLOCK, DayLocation, add_by_name, count_small_block

_ISO_DAY: Final = "^[0-9]{4}-[0-9]{2}-[0-9]{2}$"

_DAY: Final = 2**32
"""Factor of the day in a key: the number of a day times this, plus the number of a location."""

_MERGED_ROWS: Final = 1_000_000
"""Number of new rows (16 MB) at which the rows with the same key are merged into one."""

_MAX_PAIRS: Final = 1000
"""Number of pairs (day, location) in the dict at which the dict is turned into columns."""


class GeoCounter:
    """Count lines for a `GeoKey`: collect a count for each day and location.

    Args:
        key: table and dimensions.
        known: locations of addresses. Several counters may share it, if only one uses it at a time.
        small_block: bytes up to which a block is counted line by line, because this is faster.
    """

    def __init__(
        self,
        key: GeoKey,
        known: KnownAddresses | None = None,
        *,
        small_block: int = SMALL_BLOCK,
    ) -> None:
        self._key = key
        self._known = known or KnownAddresses()
        self._small_block = small_block
        self._begin()

    def _begin(self) -> None:
        self._counts = LineCounts()
        self._data: GeoData | None = None
        self._days: dict[str, int] = {}  # day → its number in keys
        self._pairs: dict[DayLocation, int] = {}  # pair → number of lines, of small blocks
        self._frames: list[pl.DataFrame] = []  # keys and lines, not merged yet

    @property
    def size(self) -> int:
        """Estimate how many counts, one for each day, dimension and value, are in memory."""
        in_pairs = len(self._pairs) * len(self._key.dimensions)
        if not self._frames or self._data is None:
            return in_pairs
        keys, days, names = self._frames[0].height, len(self._days), self._data.names
        return in_pairs + sum(min(keys, days * len(names[each])) for each in self._key.dimensions)

    def new_day_offset(self, data: bytes) -> int:
        """Return the offset of the first line that has the same day as the last line.

        Return 0 if this day is not valid, or was counted before.
        """
        fields = data[data.rfind(b"\n", 0, -1) + 1 :].rstrip(b"\r\n").split(b" ", 2)
        day = fields[1] if len(fields) > 1 else b""
        text = iso_day(day.decode(errors="replace"))
        if text is None or text in self._days:
            return 0
        return data.rfind(b"\n", 0, data.index(b" " + day)) + 1

    def reject_overlong(self, lines: int) -> None:
        """Count *lines* lines as rejected because they are too long."""
        self._counts.reject("", OVERLONG, lines)

    def add(self, data: bytes, days: DayRange) -> int:
        """Count the lines in *data*, and return their number."""
        geo = self._key.geo.data
        if geo is not self._data:
            self._resolve_names()
            self._data = geo
        if len(data) <= self._small_block or _has_stray_returns(data):
            return self._add_small_block(data, days, geo)
        return self._add_large_block(data, days, geo)

    def _add_small_block(self, data: bytes, days: DayRange, geo: GeoData) -> int:
        lines, found = count_small_block(data, days, geo, self._counts)
        for pair, number in found.items():
            self._days.setdefault(pair[0], len(self._days))
            self._pairs[pair] = self._pairs.get(pair, 0) + number
        if len(self._pairs) > _MAX_PAIRS:
            self._keep(self._take_pairs())
        return lines

    def _add_large_block(self, data: bytes, days: DayRange, geo: GeoData) -> int:
        groups = _grouped(data)
        groups = groups.with_columns(location=self._known.locations(groups["address"], geo))
        real_days, good_days = _checked_days(groups["day"], days)
        groups = groups.with_columns(day_number=self._number_of(good_days))
        is_good = pl.col("location").is_not_null() & pl.col("day_number").is_not_null()
        key = (pl.col("day_number") * _DAY + pl.col("location")).alias("key")
        self._keep(groups.filter(is_good).select(key, "lines"))
        bad = groups.filter(~is_good)
        if bad.height:
            self._reject(data, _with_reasons(bad, real_days, good_days))
        return int(groups["lines"].sum())

    def take(self) -> LineCounts:
        """Return the counts since the last call, and begin again with empty counts."""
        self._resolve_names()
        taken = self._counts
        self._begin()
        return taken

    def _number_of(self, days: list[str]) -> pl.Expr:
        """Return an expression that maps each of *days* to its number, other texts to null."""
        for day in days:
            self._days.setdefault(day, len(self._days))
        numbers = [self._days[day] for day in days]
        return pl.col("day").replace_strict(days, numbers, default=None, return_dtype=pl.UInt64)

    def _keep(self, frame: pl.DataFrame) -> None:
        """Add columns of counts, and merge all columns if there are many more rows than before."""
        self._frames.append(frame)
        rows = sum(frame.height for frame in self._frames)
        if rows > _MERGED_ROWS + 2 * self._frames[0].height:
            self._frames = [_summed(pl.concat(self._frames))]

    def _take_pairs(self) -> pl.DataFrame:
        """Return the counts in the dict of pairs as columns, and empty the dict."""
        keys = [self._days[day] * _DAY + location for day, location in self._pairs]
        columns = {"key": keys, "lines": list(self._pairs.values())}
        self._pairs = {}
        return pl.DataFrame(columns, schema=dict.fromkeys(columns, pl.UInt64))

    def _resolve_names(self) -> None:
        """Turn counts by location number into counts by name, because a reloaded table may number
        the locations differently."""
        if self._data is None:
            return
        if not self._frames:
            add_by_name(self._pairs, self._data, self._key.dimensions, self._counts)
            self._pairs = {}
            return
        if self._pairs:
            self._keep(self._take_pairs())
        key, days = pl.col("key"), list(self._days)
        counts = _summed(pl.concat(self._frames)).select(
            "lines", number=key // _DAY, location=(key % _DAY).cast(pl.UInt32)
        )
        self._frames = []
        for (number,), of_day in counts.partition_by("number", as_dict=True).items():
            day = days[number]
            self._counts.lines[day] = self._counts.lines.get(day, 0) + int(of_day["lines"].sum())
            for dimension in self._key.dimensions:
                self._add_by_name(day, dimension, of_day, self._data)

    def _add_by_name(self, day: str, dimension: str, counts: pl.DataFrame, geo: GeoData) -> None:
        """Add *counts* of locations to the counts of the names that they have in *dimension*."""
        names = geo.names[dimension]
        added = _summed(counts.select("lines", key=names.ranks.gather(counts["location"])))
        # Sort by descending counts, because the server inserts values fastest in this order.
        ordered = added.sort(pl.col("lines") * 2**32 + pl.col("key"), descending=True)
        named = dict(zip(names.texts(ordered["key"]), ordered["lines"].to_list(), strict=True))
        self._counts.add(day, dimension, named)

    def _reject(self, data: bytes, bad: pl.DataFrame) -> None:
        """Count the rejected groups *bad* of *data*, and keep some of their lines as samples."""
        totals = bad.group_by("reject_day", "reason").agg(pl.col("lines").sum())
        for day, reason, count in totals.iter_rows():
            self._counts.reject(day, reason, count)
        samples = self._counts.samples
        short = [day for day in totals["reject_day"] if len(samples.get(day, ())) < SAMPLES]
        wanted = bad.filter(pl.col("reject_day").is_in(short)).group_by("reject_day").head(SAMPLES)
        if not wanted.height:
            return
        source, position = BytesIO(data), 0
        for day, number in _first_rows(data, wanted).iter_rows():
            line = next(islice(source, number - position, None))
            position = number + 1
            self._counts.sample(day, line.removesuffix(b"\n").removesuffix(b"\r"))


def _has_stray_returns(data: bytes) -> bool:
    """Return whether *data* has a carriage return that is not part of a line end.

    Polars would drop a carriage return after any field, so lines of such data are counted one by
    one.
    """
    # The search is much faster than counting, and few logs have carriage returns.
    return b"\r" in data and data.count(b"\r") != data.count(b"\r\n")


def _grouped(data: bytes) -> pl.DataFrame:
    """Count the lines by their first two fields.

    Returns:
        Columns `address` and `day`, which are null if the field is missing, and `lines`.
    """
    lines = pl.len().cast(pl.UInt64).alias("lines")
    return _queried(data, lambda rows: rows.group_by("address", "day").agg(lines))


def _first_rows(data: bytes, groups: pl.DataFrame) -> pl.DataFrame:
    """Return the `reject_day` of each of *groups*, and the first of its rows in *data*, in order
    of the rows."""

    def query(rows: pl.LazyFrame) -> pl.LazyFrame:
        keys = ("address", "day")
        found = rows.with_row_index("row").join(groups.lazy(), on=keys, nulls_equal=True)
        return found.group_by(*keys, "reject_day").agg(pl.col("row").min())

    return _queried(data, query).select("reject_day", "row").sort("row")


def _queried(data: bytes, query: Callable[[pl.LazyFrame], pl.LazyFrame]) -> pl.DataFrame:
    """Return the result of *query* for the first two fields of every line."""
    # The other engine would keep the rows of each group.
    try:
        return query(_scanned(data, "utf8")).collect(engine="streaming")
    except pl.exceptions.ComputeError:  # some bytes are not UTF-8: use the slower decoder
        return query(_scanned(data, "utf8-lossy")).collect(engine="streaming")


def _scanned(data: bytes, encoding: Literal["utf8", "utf8-lossy"]) -> pl.LazyFrame:
    return pl.scan_csv(
        data,
        separator=" ",
        quote_char=None,
        has_header=False,
        schema={"address": pl.String, "day": pl.String},
        extra_columns="ignore",
        missing_columns="insert",
        raise_if_empty=False,
        encoding=encoding,
    )


def _checked_days(texts: pl.Series, days: DayRange) -> tuple[list[str], list[str]]:
    """Return which *texts* are days of the calendar, and which of these are in *days*."""
    distinct = texts.drop_nulls().unique()
    shaped = distinct.filter(distinct.str.contains(_ISO_DAY))
    real = [each for each in shaped.to_list() if iso_day(each)]
    return real, [each for each in real if days.first <= each <= days.last]


def _with_reasons(bad: pl.DataFrame, real_days: list[str], good_days: list[str]) -> pl.DataFrame:
    """Add two columns to rejected groups: `reason`, and `reject_day`, the day under which they are
    counted (empty unless only the address is not valid)."""
    day = pl.col("day")
    return bad.with_columns(
        reason=pl.when(day.is_null() | pl.col("address").is_null())
        .then(pl.lit(MALFORMED))
        .when(~day.is_in(real_days))
        .then(pl.lit(NO_DAY))
        .when(~day.is_in(good_days))
        .then(pl.lit(FAR_DAY))
        .otherwise(pl.lit(NO_ADDRESS))
    ).with_columns(
        reject_day=pl.when(pl.col("reason") == NO_ADDRESS).then(day).otherwise(pl.lit(""))
    )


def _summed(counts: pl.DataFrame) -> pl.DataFrame:
    """Return the sum of the lines of each key."""
    return counts.group_by("key").agg(pl.col("lines").sum())
