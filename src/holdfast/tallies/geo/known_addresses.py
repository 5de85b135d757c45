"""Keep the locations of addresses, so that each address is looked up once.

In logs of visitors, the same addresses occur in all blocks. Finding a known text is faster than
parsing the address and looking up its location.
"""

from __future__ import annotations

from typing import Final

import polars as pl

from .address_columns import parsed
from .geo_data import AddressRanges, GeoData

MAX_KNOWN: Final = 1_000_000
"""Number of texts (about 100 MB) after which all are forgotten."""

MAX_TEXT: Final = 45
"""Maximum bytes of an address: IPv6 in full, with an IPv4 address at its end."""

_NO_ADDRESS: Final = "-"
"""Replaces each text that is longer than `MAX_TEXT`, so that such texts take no memory."""

_NO_LOCATION: Final = 2**32 - 1
"""Location of a text that is not an address."""


class KnownAddresses:
    """Find the locations of addresses. One thread at a time uses this object."""

    def __init__(self) -> None:
        self._begin(None)

    def _begin(self, geo: GeoData | None) -> None:
        self._geo = geo
        self._known = pl.DataFrame(schema={"text": pl.String, "location": pl.UInt32})

    def locations(self, texts: pl.Series, geo: GeoData) -> pl.Series:
        """Return the location of each text in *geo*; null if the text is not an address."""
        if geo is not self._geo or self._known.height > MAX_KNOWN:
            self._begin(geo)
        too_long = texts.str.len_bytes() > MAX_TEXT
        if too_long.any():
            texts = texts.set(too_long.fill_null(value=False), _NO_ADDRESS)
        found = self._known_locations(texts)
        if found.null_count() > texts.null_count():
            new = _looked_up(texts.filter(found.is_null()), geo)
            self._known = pl.concat([self._known, new], rechunk=True)  # not a chunk for each block
            found = self._known_locations(texts)
        return found.set(found == _NO_LOCATION, None)

    def _known_locations(self, texts: pl.Series) -> pl.Series:
        """Return the location of each text; null if it is not known yet."""
        named = texts.to_frame("text")
        joined = named.join(self._known, on="text", how="left", maintain_order="left")
        return joined["location"]


def _looked_up(texts: pl.Series, geo: GeoData) -> pl.DataFrame:
    """Return the distinct *texts* and their locations in *geo*."""
    # Copy the texts, because texts of Polars keep the memory of the block that they come from.
    distinct = pl.Series("text", texts.drop_nulls().unique().to_list(), dtype=pl.String)
    addresses = parsed(distinct)
    of_ipv4, of_ipv6 = (
        _found(addresses[name], ranges) for name, ranges in (("ipv4", geo.ipv4), ("ipv6", geo.ipv6))
    )
    location = of_ipv4.zip_with(of_ipv4.is_not_null(), of_ipv6).fill_null(_NO_LOCATION)
    return pl.DataFrame([distinct, location.alias("location")])


def _found(addresses: pl.Series, ranges: AddressRanges) -> pl.Series:
    """Return the location of each of *addresses*; null for null."""
    present = addresses.is_not_null()
    if not present.any():
        return pl.repeat(None, len(addresses), dtype=pl.UInt32, eager=True)
    found = ranges.find(addresses.fill_null(0).cast(ranges.starts.dtype))
    return found.zip_with(present, pl.Series([None], dtype=found.dtype))
