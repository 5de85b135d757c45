"""Load the CSV files of GeoLite2: networks with geoname ids, and the locations with these ids."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from ipaddress import IPv4Address, IPv6Network
from typing import Final

import polars as pl

from ...errors import BadGeoData
from .address_columns import ipv4_number, is_ipv4
from .geo_data import FIRST_LOCATION, UNKNOWN, AddressRanges, GeoData

SLICE: Final = 100_000
"""Number of IPv6 networks parsed at a time; more would take much memory as Python numbers."""

NAMES: Final = ("country_iso_code", "subdivision_1_name", "city_name")


def load(files: Sequence[str], locations: str) -> GeoData:
    """Load the data of these files; see `GeoTable.from_geolite2_csv`."""
    known = _collected(locations, _columns(locations, ("geoname_id", *NAMES)))
    known = known.unique("geoname_id", keep="any")
    known = known.filter(pl.any_horizontal(pl.col(NAMES).is_not_null()))
    unique = known.select(NAMES).unique(maintain_order=True)
    numbers = known.join(
        unique.with_row_index("location", FIRST_LOCATION), on=NAMES, nulls_equal=True
    ).select("geoname_id", "location")
    networks: dict[int, list[pl.DataFrame]] = {4: [], 6: []}
    for file in files:
        networks[4].append(_ipv4_networks(file, numbers))
        networks[6].append(_ipv6_networks(file, numbers))
    ipv4, ipv6 = (_ranges(files[0], pl.concat(of), version) for version, of in networks.items())
    return GeoData.build(ipv4, ipv6, unique.rows(), None)


def _columns(path: str, names: Iterable[str]) -> pl.LazyFrame:
    """Read columns of a CSV file lazily as text; empty fields are null."""
    with open(path, "rb"):  # noqa: PTH123 - raises the usual error if there is no such file
        pass
    return pl.scan_csv(path, infer_schema=False).select(names)


def _collected(path: str, frame: pl.LazyFrame) -> pl.DataFrame:
    """Run the query *frame* on the file *path*. Read the file in parts to save memory.

    Raises:
        BadGeoData: columns are missing.
    """
    try:
        return frame.collect(engine="streaming")
    except pl.exceptions.PolarsError as error:
        problem = str(error).partition("\n")[0]
        raise BadGeoData(path, f"required columns are missing: {problem}") from None


def _networks(path: str, numbers: pl.DataFrame, *, ipv4: bool) -> pl.LazyFrame:
    """Return a query of address, prefix length and location of the IPv4 networks, or of all other
    rows."""
    network = pl.col("network").str.split_exact("/", 1).struct
    rows = (
        _columns(path, ("network", "geoname_id"))
        .join(numbers.lazy(), on="geoname_id", how="left")
        .select(
            address=network.field("field_0"),
            length=network.field("field_1").cast(pl.UInt8, strict=False),
            location=pl.col("location").fill_null(UNKNOWN).cast(pl.UInt32),
        )
    )
    of_ipv4 = (is_ipv4(pl.col("address")) & (pl.col("length") <= 32)).fill_null(value=False)
    return rows.filter(of_ipv4 if ipv4 else ~of_ipv4)


def _ipv4_networks(path: str, numbers: pl.DataFrame) -> pl.DataFrame:
    """Return first address, last address and location of every IPv4 network."""
    size = pl.lit(2, pl.UInt64).pow(32 - pl.col("length")).cast(pl.UInt64)
    start = ipv4_number(pl.col("address"))
    found = _collected(
        path,
        _networks(path, numbers, ipv4=True).select(
            start=start.cast(pl.UInt32),
            last=(start + size - 1).cast(pl.UInt32, strict=False),
            location="location",
        ),
    )
    span = pl.col("last") - pl.col("start")
    wrong = found.filter(((pl.col("start") & span) > 0) | pl.col("last").is_null())
    if wrong.height:
        first = IPv4Address(wrong["start"][0])
        raise BadGeoData(path, f"{first} is not the first address of its network")
    return found


def _ipv6_networks(path: str, numbers: pl.DataFrame) -> pl.DataFrame:
    """Return first address, last address and location of every row that is not an IPv4 network.

    Raises:
        BadGeoData: a row is not an IPv6 network either.
    """
    rows = _collected(path, _networks(path, numbers, ipv4=False))
    found = [_parsed_ipv6(path, rows.clear())]
    found += [_parsed_ipv6(path, part) for part in rows.iter_slices(SLICE)]
    return pl.concat(found)


def _parsed_ipv6(path: str, rows: pl.DataFrame) -> pl.DataFrame:
    starts, lasts = [], []
    for address, length in rows.select("address", "length").iter_rows():
        try:
            network = IPv6Network((address, length))
        except (TypeError, ValueError):
            raise BadGeoData(path, f"'{address}/{length}' is not a network") from None
        starts.append(int(network.network_address))
        lasts.append(int(network.broadcast_address))
    return pl.DataFrame(
        {
            "start": pl.Series(starts, dtype=pl.UInt128),
            "last": pl.Series(lasts, dtype=pl.UInt128),
            "location": rows["location"],
        }
    )


def _ranges(path: str, networks: pl.DataFrame, version: int) -> AddressRanges:
    """Build ranges from *networks* and from the gaps between them.

    Raises:
        BadGeoData: networks overlap.
    """
    networks = networks.sort("start")
    following = pl.col("start").shift(-1)
    if networks.filter(following <= pl.col("last")).height:
        raise BadGeoData(path, "networks overlap")
    highest = pl.lit(2 ** (32 if version == 4 else 128) - 1, networks["last"].dtype)
    ends = networks.filter(pl.col("last") < highest).select(
        start=pl.col("last") + 1, location=pl.lit(UNKNOWN, pl.UInt32)
    )
    # If a network follows another without a gap, both rows have the same start: keep the network.
    both = pl.concat([ends, networks.select("start", "location")])
    both = both.unique("start", keep="last", maintain_order=True).sort("start")
    return AddressRanges.build(both["start"], both["location"], version)
