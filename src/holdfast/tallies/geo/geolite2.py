"""GeoLite2's CSV files: networks of geoname ids, and what these ids are called."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from ipaddress import IPv4Address, IPv6Network
from typing import Final

import polars as pl

from ...errors import BadGeoData
from .atlas import FIRST_PLACE, NOWHERE, Atlas, Ranges
from .ipv4 import ipv4_number, is_ipv4

SLICE: Final = 100_000
"""Networks of IPv6 that are read together: as numbers of Python they take much room."""

NAMES: Final = ("country_iso_code", "subdivision_1_name", "city_name")


def load(files: Sequence[str], locations: str) -> Atlas:
    """The atlas of these files; see `GeoTable.from_geolite2_csv`."""
    known = _collected(locations, _columns(locations, ("geoname_id", *NAMES)))
    known = known.unique("geoname_id", keep="any")
    known = known.filter(pl.any_horizontal(pl.col(NAMES).is_not_null()))
    places = known.select(NAMES).unique(maintain_order=True)
    numbers = known.join(
        places.with_row_index("place", FIRST_PLACE), on=NAMES, nulls_equal=True
    ).select("geoname_id", "place")
    networks: dict[int, list[pl.DataFrame]] = {4: [], 6: []}
    for file in files:
        networks[4].append(_four(file, numbers))
        networks[6].append(_six(file, numbers))
    four, six = (_ranges(files[0], pl.concat(of), version) for version, of in networks.items())
    return Atlas.of(four, six, places.rows(), None)


def _columns(path: str, names: Iterable[str]) -> pl.LazyFrame:
    """Some columns of a CSV file, as text; empty fields are null."""
    with open(path, "rb"):  # noqa: PTH123 - as is said of a file that is not there
        pass
    return pl.scan_csv(path, infer_schema=False).select(names)


def _collected(path: str, frame: pl.LazyFrame) -> pl.DataFrame:
    """What a query over a file finds; a part of the file at a time, as texts take much memory."""
    try:
        return frame.collect(engine="streaming")
    except pl.exceptions.PolarsError as error:
        problem = str(error).partition("\n")[0]
        raise BadGeoData(path, f"it has not the columns that it should have: {problem}") from None


def _networks(path: str, numbers: pl.DataFrame, *, four: bool) -> pl.LazyFrame:
    """Address, length and place of the networks of IPv4, or of all others."""
    network = pl.col("network").str.split_exact("/", 1).struct
    rows = (
        _columns(path, ("network", "geoname_id"))
        .join(numbers.lazy(), on="geoname_id", how="left")
        .select(
            address=network.field("field_0"),
            length=network.field("field_1").cast(pl.UInt8, strict=False),
            place=pl.col("place").fill_null(NOWHERE).cast(pl.UInt32),
        )
    )
    is_four = (is_ipv4(pl.col("address")) & (pl.col("length") <= 32)).fill_null(value=False)
    return rows.filter(is_four if four else ~is_four)


def _four(path: str, numbers: pl.DataFrame) -> pl.DataFrame:
    """First address, last address and place of every network of IPv4."""
    size = pl.lit(2, pl.UInt64).pow(32 - pl.col("length")).cast(pl.UInt64)
    start = ipv4_number(pl.col("address"))
    found = _collected(
        path,
        _networks(path, numbers, four=True).select(
            start=start.cast(pl.UInt32),
            last=(start + size - 1).cast(pl.UInt32, strict=False),
            place="place",
        ),
    )
    span = pl.col("last") - pl.col("start")
    astray = found.filter(((pl.col("start") & span) > 0) | pl.col("last").is_null())
    if astray.height:
        first = IPv4Address(astray["start"][0])
        raise BadGeoData(path, f"a network begins at {first}, within itself")
    return found


def _six(path: str, numbers: pl.DataFrame) -> pl.DataFrame:
    """Likewise of IPv6; what is neither is refused."""
    rows = _collected(path, _networks(path, numbers, four=False))
    found = [_six_of(path, rows.clear())]
    found += [_six_of(path, part) for part in rows.iter_slices(SLICE)]
    return pl.concat(found)


def _six_of(path: str, rows: pl.DataFrame) -> pl.DataFrame:
    starts, lasts = [], []
    for address, length in rows.select("address", "length").iter_rows():
        try:
            network = IPv6Network((address, length))
        except (TypeError, ValueError):
            raise BadGeoData(path, f"'{address}/{length}' is no network") from None
        starts.append(int(network.network_address))
        lasts.append(int(network.broadcast_address))
    return pl.DataFrame(
        {
            "start": pl.Series(starts, dtype=pl.UInt128),
            "last": pl.Series(lasts, dtype=pl.UInt128),
            "place": rows["place"],
        }
    )


def _ranges(path: str, networks: pl.DataFrame, version: int) -> Ranges:
    """The ranges of these networks, and of the gaps between them."""
    networks = networks.sort("start")
    following = pl.col("start").shift(-1)
    if networks.filter(following <= pl.col("last")).height:
        raise BadGeoData(path, "networks overlap")
    highest = pl.lit(2 ** (32 if version == 4 else 128) - 1, networks["last"].dtype)
    ends = networks.filter(pl.col("last") < highest).select(
        start=pl.col("last") + 1, place=pl.lit(NOWHERE, pl.UInt32)
    )
    # Where a network follows at once, its start comes second, and stays.
    both = pl.concat([ends, networks.select("start", "place")])
    both = both.unique("start", keep="last", maintain_order=True).sort("start")
    return Ranges.of(both["start"], both["place"], version)
