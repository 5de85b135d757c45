"""Counts a block of lines at once, column by column; where there are only few, one by one.

Equal pairs of address and day are counted first. What is left, a tenth in logs of people, is looked
up in the order of its addresses. Where that is fast and what it is measured against: `benchmarks`.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from io import BytesIO
from ipaddress import IPv4Address, IPv6Address
from itertools import islice
from typing import Final, Literal

import polars as pl

from ..addresses import parsed
from ..counted import FAR_DAY, MALFORMED, NO_ADDRESS, NO_DAY, OVERLONG, SAMPLES, Sums
from ..days import Span, checked_day
from .atlas import Atlas, Ranges
from .few import FEW, Spot, add_named, spots_of
from .ipv4 import ipv4_number, is_ipv4
from .key import GeoKey

_ISO_DAY: Final = "^[0-9]{4}-[0-9]{2}-[0-9]{2}$"

_DAY: Final = 2**32
"""The number of a day times this, and that of a place, is a key."""


_FEW_SPOTS: Final = 1000
"""So many days and places are kept one by one before they are columns as well."""


class PlaceCounter:
    """Counts lines for one `GeoKey`. What has come together is a count for each day and place.

    Args:
        key: what is counted by.
        few: bytes of lines that are counted one by one, as that is faster.
    """

    def __init__(self, key: GeoKey, *, few: int = FEW) -> None:
        self._key = key
        self._few = few
        self._begin()

    def _begin(self) -> None:
        self._sums = Sums()
        self._atlas: Atlas | None = None
        self._days: dict[str, int] = {}  # their numbers
        self._spots: dict[Spot, int] = {}
        self._parts: list[pl.DataFrame] = []  # the first one is of different days and places

    @property
    def size(self) -> int:
        """How many different counts have come together, about."""
        few = len(self._spots) * len(self._key.dimensions)
        if not self._parts or self._atlas is None:
            return few
        together, days, names = self._parts[0].height, len(self._days), self._atlas.names
        return few + sum(min(together, days * len(names[each])) for each in self._key.dimensions)

    def turn(self, data: bytes) -> int:
        """Where in whole lines the day of the last one begins; 0: it is known, or nowhere."""
        fields = data[data.rfind(b"\n", 0, -1) + 1 :].rstrip(b"\r\n").split(b" ", 2)
        day = fields[1] if len(fields) > 1 else b""
        text = checked_day(day.decode(errors="replace"))
        if text is None or text in self._days:
            return 0
        return data.rfind(b"\n", 0, data.index(b" " + day)) + 1

    def overlong(self, lines: int) -> None:
        """Count lines that were too long to be read."""
        self._sums.reject("", OVERLONG, lines)

    def add(self, data: bytes, span: Span) -> int:
        """Count whole lines. How many?"""
        atlas = self._key.geo.atlas
        if atlas is not self._atlas:
            self._name()
            self._atlas = atlas
        if len(data) <= self._few:
            return self._add_few(data, span, atlas)
        return self._add_many(data, span, atlas)

    def _add_few(self, data: bytes, span: Span, atlas: Atlas) -> int:
        lines, spots = spots_of(data, span, atlas, self._sums)
        for spot, number in spots.items():
            self._days.setdefault(spot[0], len(self._days))
            self._spots[spot] = self._spots.get(spot, 0) + number
        if len(self._spots) > _FEW_SPOTS:
            self._keep([self._taken_spots()])
        return lines

    def _add_many(self, data: bytes, span: Span, atlas: Atlas) -> int:
        number = pl.len().cast(pl.UInt64)
        groups = _read(data, lambda lines: lines.group_by("address", "day").agg(lines=number))
        days, near = _good_days(groups, span)
        address, four = pl.col("address"), pl.col("four").is_not_null()
        groups = groups.with_columns(
            four=pl.when(is_ipv4(address)).then(ipv4_number(address)), near=self._number_of(near)
        )
        is_near = pl.col("near").is_not_null()
        found = [_placed(groups.filter(is_near & four), "four", atlas.four)]
        rest = groups.filter(~(is_near & four))
        if rest.height:
            rest = _ipv6(rest)
            is_good = is_near & (four | pl.col("six").is_not_null())
            good = rest.filter(is_good)
            found.append(_placed(good.filter(four), "four", atlas.four))
            found.append(_placed(good.filter(~four), "six", atlas.six))
            self._reject(data, _explained(rest.filter(~is_good), days, near))
        self._keep(found)
        return int(groups["lines"].sum())

    def take(self) -> Sums:
        """What was counted since the last time."""
        self._name()
        taken = self._sums
        self._begin()
        return taken

    def _number_of(self, days: list[str]) -> pl.Expr:
        """The numbers of these days; null for any other."""
        for day in days:
            self._days.setdefault(day, len(self._days))
        numbers = [self._days[day] for day in days]
        return pl.col("day").replace_strict(days, numbers, default=None, return_dtype=pl.UInt64)

    def _keep(self, parts: list[pl.DataFrame]) -> None:
        """Add columns of counts, which are put together once they are many."""
        self._parts += parts
        if sum(part.height for part in self._parts) > 2 * self._parts[0].height:
            self._parts = [_added_up(pl.concat(self._parts))]

    def _taken_spots(self) -> pl.DataFrame:
        """What was counted one by one, as columns."""
        keys = [self._days[day] * _DAY + place for day, place in self._spots]
        columns = {"key": keys, "lines": list(self._spots.values())}
        self._spots = {}
        return pl.DataFrame(columns, schema=dict.fromkeys(columns, pl.UInt64))

    def _name(self) -> None:
        """Turn the numbers of places into names; those of another table mean something else."""
        if self._atlas is None:
            return
        if not self._parts:
            add_named(self._spots, self._atlas, self._key.dimensions, self._sums)
            self._spots = {}
            return
        if self._spots:
            self._keep([self._taken_spots()])
        key, days = pl.col("key"), list(self._days)
        counts = _added_up(pl.concat(self._parts)).select(
            "lines", number=key // _DAY, place=(key % _DAY).cast(pl.UInt32)
        )
        self._parts = []
        for (number,), its in counts.partition_by("number", as_dict=True).items():
            day = days[number]
            self._sums.lines[day] = self._sums.lines.get(day, 0) + int(its["lines"].sum())
            for dimension in self._key.dimensions:
                self._add_named(day, dimension, its, self._atlas)

    def _add_named(self, day: str, dimension: str, counts: pl.DataFrame, atlas: Atlas) -> None:
        """Add the counts of places of *atlas* by what they are called in a dimension."""
        names = atlas.names[dimension]
        added = _added_up(counts.select("lines", key=names.ranks.gather(counts["place"])))
        # The highest first, as the server finds their places fastest.
        ordered = added.sort(pl.col("lines") * 2**32 + pl.col("key"), descending=True)
        named = dict(zip(names.texts(ordered["key"]), ordered["lines"].to_list(), strict=True))
        self._sums.add(day, dimension, named)

    def _reject(self, data: bytes, bad: pl.DataFrame) -> None:
        told = bad.group_by("under", "problem").agg(pl.col("lines").sum())
        for day, problem, count in told.iter_rows():
            self._sums.reject(day, problem, count)
        wanting = [day for day in told["under"] if len(self._sums.samples.get(day, ())) < SAMPLES]
        wanted = bad.filter(pl.col("under").is_in(wanting)).group_by("under").head(SAMPLES)
        if not wanted.height:
            return
        lines = _read(data, lambda lines: lines)
        numbered = lines.with_row_index("number").join(
            wanted.select("address", "day", "under"), on=["address", "day"], nulls_equal=True
        )
        first = numbered.group_by("under", "address", "day").agg(pl.col("number").min())
        source, position = BytesIO(data), 0
        for day, number in first.select("under", "number").sort("number").iter_rows():
            line = next(islice(source, number - position, None))
            position = number + 1
            self._sums.sample(day, line.removesuffix(b"\n").removesuffix(b"\r"))


def _read(data: bytes, query: Callable[[pl.LazyFrame], pl.LazyFrame]) -> pl.DataFrame:
    """What *query* makes of the first two fields of every line, null where there is none."""
    try:
        return query(_scanned(data, "utf8")).collect()
    except pl.exceptions.ComputeError:  # not all of it is text; the other way is slower
        return query(_scanned(data, "utf8-lossy")).collect()


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


def _good_days(groups: pl.DataFrame, span: Span) -> tuple[list[str], list[str]]:
    """Those of the days of *groups* that are days, and those of them within *span*."""
    day = pl.col("day")
    shaped = groups.select("day").unique().filter(day.str.contains(_ISO_DAY))
    days = [each for each in shaped["day"].to_list() if checked_day(each)]
    return days, [each for each in days if span.first <= each <= span.last]


def _ipv6(groups: pl.DataFrame) -> pl.DataFrame:
    """*groups* with the numbers of IPv6 addresses; those that stand for IPv4 are that."""
    texts = groups["address"].unique()
    texts = texts.filter(texts.str.contains(":", literal=True))
    four, six = [], []
    for text in texts:
        found = None
        with suppress(ValueError):
            found = parsed(text)
        four.append(int(found) if isinstance(found, IPv4Address) else None)
        six.append(int(found) if isinstance(found, IPv6Address) else None)
    numbers = pl.DataFrame(
        [texts, pl.Series("four", four, dtype=pl.UInt32), pl.Series("six", six, dtype=pl.UInt128)]
    )
    return groups.drop("four").join(numbers, on="address", how="left")


def _explained(bad: pl.DataFrame, days: list[str], near: list[str]) -> pl.DataFrame:
    """*bad* with what is wrong with each (`problem`), and the day that it counts to (`under`)."""
    day = pl.col("day")
    return bad.with_columns(
        problem=pl.when(day.is_null() | pl.col("address").is_null())
        .then(pl.lit(MALFORMED))
        .when(~day.is_in(days))
        .then(pl.lit(NO_DAY))
        .when(~day.is_in(near))
        .then(pl.lit(FAR_DAY))
        .otherwise(pl.lit(NO_ADDRESS))
    ).with_columns(under=pl.when(pl.col("problem") == NO_ADDRESS).then(day).otherwise(pl.lit("")))


def _placed(groups: pl.DataFrame, column: str, ranges: Ranges) -> pl.DataFrame:
    """Day and place, and lines of *groups*, whose addresses are numbers of *column*."""
    # In order, the search goes through memory in order as well.
    groups = groups.select(column, "near", "lines").sort(column)
    places = ranges.find(groups[column].cast(ranges.starts.dtype))
    return groups.select(key=pl.col("near") * _DAY + places, lines="lines")


def _added_up(counts: pl.DataFrame) -> pl.DataFrame:
    """The lines of each key: numbers are put together much faster than texts."""
    return counts.group_by("key").agg(pl.col("lines").sum())
