"""Hold the address ranges and locations of a loaded table. They never change: threads share them.

    starts      0   16777216  16777472  …   ascending; a range ends where the next one begins
    locations   0   17        0         …   0: unknown; 1: private; from 2 on: row of the locations

A gap between networks is a range with location 0. So one search finds the location of any address:
an address in a gap does not get the location before the gap. A range takes 8 bytes for IPv4, 20 for
IPv6.
"""

from __future__ import annotations

import bisect
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from ipaddress import IPv4Address, IPv6Address
from typing import Final

import polars as pl

from ..addresses import private_networks
from .location import GeoLocation

UNKNOWN_NAME: Final = "??"
"""Name of an unknown location, or of an unknown country, region or city in a name."""

PRIVATE_NAME: Final = "private"
"""Name of the location of addresses that are not globally reachable."""

UNKNOWN: Final = 0
PRIVATE: Final = 1
FIRST_LOCATION: Final = 2

COLUMN_LOOKUPS: Final = 20
"""Number of addresses above which a search by column is faster than single searches."""


@dataclass(frozen=True, slots=True)
class AddressRanges:
    """Hold ranges that cover all addresses of one IP version.

    Attributes:
        starts: first address of each range, ascending; the first one is 0.
        locations: number of the location of each range.
    """

    starts: pl.Series
    locations: pl.Series

    @classmethod
    def build(cls, starts: pl.Series, locations: pl.Series, version: int) -> AddressRanges:
        """Build ranges from ascending *starts* and the *locations* of the ranges.

        An address with an unknown location that is not globally reachable gets the location
        `PRIVATE`.
        """
        kind = pl.UInt32 if version == 4 else pl.UInt128
        limit = 2**32 if version == 4 else 2**128
        given = pl.DataFrame({"start": starts.cast(kind), "location": locations.cast(pl.UInt32)})
        defaults: dict[int, int] = {0: UNKNOWN}
        for first, after in private_networks(version):
            defaults[first] = PRIVATE
            defaults.setdefault(after, UNKNOWN)  # keep PRIVATE if a private network begins there
        edges = sorted(edge for edge in defaults if edge < limit)
        default = pl.DataFrame(
            {
                "start": pl.Series(edges, dtype=kind),
                "default": pl.Series([defaults[edge] for edge in edges], dtype=pl.UInt32),
            }
        ).set_sorted("start")
        every = pl.concat([given["start"], default["start"]]).unique().sort()
        filled = (
            pl.DataFrame({"start": every})
            .set_sorted("start")
            .join_asof(given.set_sorted("start"), on="start")
            .join_asof(default, on="start")
            .select(
                "start",
                pl.when(pl.col("location").fill_null(UNKNOWN) == UNKNOWN)
                .then("default")
                .otherwise("location")
                .alias("location"),
            )
        )
        merged = filled.filter(pl.col("location").ne_missing(pl.col("location").shift(1)))
        return cls(merged["start"].rechunk(), merged["location"].rechunk())

    def find(self, addresses: pl.Series) -> pl.Series:
        """Return the location number of each address. Ascending *addresses* are fastest."""
        return self.locations.gather(self.starts.search_sorted(addresses, side="right") - 1)

    def find_few(self, addresses: list[int]) -> list[int]:
        """Return the location number of each address. Fast for small lists, too."""
        if len(addresses) <= COLUMN_LOOKUPS:
            return [self.find_one(address) for address in addresses]
        numbers: list[int] = self.find(pl.Series(addresses, dtype=self.starts.dtype)).to_list()
        return numbers

    def find_one(self, address: int) -> int:
        """Return the location number of one address."""
        number: int = self.locations[bisect.bisect_right(self.starts, address) - 1]
        return number


@dataclass(frozen=True, slots=True)
class LocationNames:
    """Hold the names of all locations in one dimension, such as `US/California` in `region`.

    Several locations may have the same name. Names are numbered in alphabetical order, because
    numbers are compared and sorted faster than texts.

    Attributes:
        ranks: number of the name of each location.
        locations: for each number of a name, one location that has this name.
    """

    ranks: pl.Series
    locations: pl.Series
    _columns: pl.DataFrame
    _depth: int

    @classmethod
    def build(cls, locations: pl.DataFrame, depth: int) -> LocationNames:
        """Build the names from the first *depth* columns of *locations*: 1 to 3."""
        every = pl.int_range(locations.height, eager=True, dtype=pl.UInt32).alias("location")
        named = pl.DataFrame([every, _names(locations, every, depth)])
        ranked = named.select("location", rank=pl.col("name").rank("dense") - 1)
        first = ranked.unique("rank", keep="any").sort("rank")
        return cls(ranked["rank"], first["location"], locations, depth)

    def __len__(self) -> int:
        return len(self.locations)

    def texts(self, ranks: pl.Series) -> list[str]:
        """Return the names with these numbers."""
        numbers = self.locations.gather(ranks)
        return _names(self._columns[numbers], numbers, self._depth).to_list()


def _names(locations: pl.DataFrame, numbers: pl.Series, depth: int) -> pl.Series:
    """Return the names of *locations*, rows of the table with these location *numbers*."""
    columns = [pl.col(name).fill_null(UNKNOWN_NAME) for name in GeoLocation._fields[:depth]]
    path = pl.concat_str(columns, separator="/")
    name = pl.when(numbers >= FIRST_LOCATION).then(path).otherwise(columns[0])
    return locations.select(name=name).to_series()


@dataclass(frozen=True)
class GeoData:
    """Hold all data of a table.

    Attributes:
        ipv4: ranges of IPv4 addresses.
        ipv6: ranges of IPv6 addresses.
        locations: columns `country`, `region` and `city`; null if the table has no value.
        built_at: when the provider built the table (epoch seconds); None if it is unknown.
    """

    ipv4: AddressRanges
    ipv6: AddressRanges
    locations: pl.DataFrame
    built_at: int | None

    @classmethod
    def build(
        cls,
        ipv4: AddressRanges,
        ipv6: AddressRanges,
        locations: Sequence[tuple[str | None, str | None, str | None]],
        built_at: int | None,
    ) -> GeoData:
        """Build the data. *locations* (country, region, city) are numbered from `FIRST_LOCATION`
        on."""
        rows = [(UNKNOWN_NAME, None, None), (PRIVATE_NAME, None, None), *locations]
        frame = pl.DataFrame(
            rows, schema=dict.fromkeys(GeoLocation._fields, pl.String), orient="row"
        ).rechunk()
        return cls(ipv4, ipv6, frame, built_at)

    @cached_property
    def names(self) -> dict[str, LocationNames]:
        """Return dimension → names of the locations in it."""
        return {
            name: LocationNames.build(self.locations, depth)
            for depth, name in enumerate(GeoLocation._fields, 1)
        }

    def names_of(self, number: int) -> tuple[str, str, str]:
        """Return the names of the location *number* as country, region and city, as in `names`."""
        country, region, city = (
            UNKNOWN_NAME if part is None else part for part in self.locations.row(number)
        )
        if number < FIRST_LOCATION:
            return country, country, country
        return country, f"{country}/{region}", f"{country}/{region}/{city}"

    def location(self, address: IPv4Address | IPv6Address) -> GeoLocation | None:
        """Return the location of *address*; None if the table does not know it."""
        ranges = self.ipv4 if address.version == 4 else self.ipv6
        number = ranges.find_one(int(address))
        if number < FIRST_LOCATION:
            return None
        return GeoLocation(*self.locations.row(number))
