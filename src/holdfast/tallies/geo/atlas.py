"""Ranges of addresses and the places that they are in: frozen, and shared by who looks them up.

    starts   0        16777216  16777472  …      sorted; a range ends where the next one begins
    places   0        17        0         …      0 nowhere, 1 private, others: rows of the places

A gap is a range like any other, with place 0. So one search finds both, and an address that
nobody knows does not fall to the range before it. Four bytes of start and four of place make
a range of IPv4; one of IPv6 takes twenty.
"""

from __future__ import annotations

import bisect
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from ipaddress import IPv4Address, IPv6Address
from typing import Final

import polars as pl

from ..addresses import special
from ..place import PRIVATE, UNKNOWN, Place

NOWHERE: Final = 0
INSIDE: Final = 1
FIRST_PLACE: Final = 2

HANDFUL: Final = 20
"""So many are found one by one before a column of them is made."""


@dataclass(frozen=True, slots=True)
class Ranges:
    """The ranges of one kind of addresses, from the first address to the last one.

    Attributes:
        starts: first address of each, ascending; the first is 0.
        places: for each the number of its place.
    """

    starts: pl.Series
    places: pl.Series

    @classmethod
    def of(cls, starts: pl.Series, places: pl.Series, version: int) -> Ranges:
        """Ranges that begin at *starts*, ascending; special ones that nobody has told of added."""
        kind = pl.UInt32 if version == 4 else pl.UInt128
        limit = 2**32 if version == 4 else 2**128
        told = pl.DataFrame({"start": starts.cast(kind), "place": places.cast(pl.UInt32)})
        ours: dict[int, int] = {0: NOWHERE}
        for first, after in special(version):
            ours[first] = INSIDE
            ours.setdefault(after, NOWHERE)  # unless the next one begins there
        edges = sorted(edge for edge in ours if edge < limit)
        outside = pl.DataFrame(
            {
                "start": pl.Series(edges, dtype=kind),
                "ours": pl.Series([ours[edge] for edge in edges], dtype=pl.UInt32),
            }
        ).set_sorted("start")
        every = pl.concat([told["start"], outside["start"]]).unique().sort()
        filled = (
            pl.DataFrame({"start": every})
            .set_sorted("start")
            .join_asof(told.set_sorted("start"), on="start")
            .join_asof(outside, on="start")
            .select(
                "start",
                pl.when(pl.col("place").fill_null(NOWHERE) == NOWHERE)
                .then("ours")
                .otherwise("place")
                .alias("place"),
            )
        )
        merged = filled.filter(pl.col("place").ne_missing(pl.col("place").shift(1)))
        return cls(merged["start"].rechunk(), merged["place"].rechunk())

    def find(self, addresses: pl.Series) -> pl.Series:
        """The number of the place of each address, which are integers; fastest if ascending."""
        return self.places.gather(self.starts.search_sorted(addresses, side="right") - 1)

    def find_few(self, addresses: list[int]) -> list[int]:
        """The same for a handful, or some more."""
        if len(addresses) <= HANDFUL:
            return [self.find_one(address) for address in addresses]
        numbers: list[int] = self.find(pl.Series(addresses, dtype=self.starts.dtype)).to_list()
        return numbers

    def find_one(self, address: int) -> int:
        """The number of the place of one address."""
        number: int = self.places[bisect.bisect_right(self.starts, address) - 1]
        return number


@dataclass(frozen=True, slots=True)
class Names:
    """What places are called in one dimension: `US/California`. Several may be called the same.

    Numbers are compared and put in order faster than texts, so names have numbers, too.

    Attributes:
        ranks: for each place the number of its name, in the order of the names.
        places: for each name a place that is called so.
    """

    ranks: pl.Series
    places: pl.Series
    _known: pl.DataFrame
    _depth: int

    @classmethod
    def of(cls, places: pl.DataFrame, depth: int) -> Names:
        """The names of *places*, made of so many of their columns."""
        every = pl.int_range(places.height, eager=True, dtype=pl.UInt32).alias("place")
        named = pl.DataFrame([every, _called(places, every, depth)])
        ranked = named.select("place", rank=pl.col("name").rank("dense") - 1)
        first = ranked.unique("rank", keep="any").sort("rank")
        return cls(ranked["rank"], first["place"], places, depth)

    def __len__(self) -> int:
        return len(self.places)

    def texts(self, ranks: pl.Series) -> list[str]:
        """The names of these numbers."""
        numbers = self.places.gather(ranks)
        return _called(self._known[numbers], numbers, self._depth).to_list()


def _called(places: pl.DataFrame, numbers: pl.Series, depth: int) -> pl.Series:
    """The names of *places*, which have these *numbers*."""
    columns = [pl.col(name).fill_null(UNKNOWN) for name in Place._fields[:depth]]
    path = pl.concat_str(columns, separator="/")
    name = pl.when(numbers >= FIRST_PLACE).then(path).otherwise(columns[0])
    return places.select(name=name).to_series()


@dataclass(frozen=True)
class Atlas:
    """All that a table knows.

    Attributes:
        four: the ranges of IPv4.
        six: the ranges of IPv6.
        places: columns `country`, `region` and `city`, which are null where the table says nothing.
        built_at: epoch seconds, when its maker has made it; None: it does not say.
    """

    four: Ranges
    six: Ranges
    places: pl.DataFrame
    built_at: int | None

    @classmethod
    def of(
        cls,
        four: Ranges,
        six: Ranges,
        places: Sequence[tuple[str | None, str | None, str | None]],
        built_at: int | None,
    ) -> Atlas:
        """The table of these ranges, whose places are numbered from `FIRST_PLACE` on."""
        rows = [(UNKNOWN, None, None), (PRIVATE, None, None), *places]
        frame = pl.DataFrame(
            rows, schema=dict.fromkeys(Place._fields, pl.String), orient="row"
        ).rechunk()
        return cls(four, six, frame, built_at)

    @cached_property
    def names(self) -> dict[str, Names]:
        """What places are called, in each dimension."""
        return {name: Names.of(self.places, depth) for depth, name in enumerate(Place._fields, 1)}

    def called(self, number: int) -> tuple[str, str, str]:
        """What the place of a number is called in each dimension, the same as its `names` say."""
        country, region, city = (
            UNKNOWN if part is None else part for part in self.places.row(number)
        )
        if number < FIRST_PLACE:
            return country, country, country
        return country, f"{country}/{region}", f"{country}/{region}/{city}"

    def place(self, address: IPv4Address | IPv6Address) -> Place | None:
        """Where *address* is; None: nobody says."""
        ranges = self.four if address.version == 4 else self.six
        number = ranges.find_one(int(address))
        if number < FIRST_PLACE:
            return None
        return Place(*self.places.row(number))
