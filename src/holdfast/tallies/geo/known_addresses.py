"""Number the addresses of lines, and look up the location of each address once.

In logs of visitors, the same addresses occur in all blocks. Finding the number of a known text is
faster than parsing the address and looking up its location. Counting numbers is faster than
counting texts.
"""

from __future__ import annotations

from typing import Final

import polars as pl

from .address_columns import parsed
from .geo_data import AddressRanges, GeoData

MAX_KNOWN: Final = 1_000_000
"""Number of texts (about 100 MB) after which numbering begins again."""

MAX_TEXT: Final = 45
"""Maximum bytes of an address: IPv6 in full, with an IPv4 address at its end."""

_NO_ADDRESS: Final = "-"
"""Replaces each text that is longer than `MAX_TEXT`, so that such texts take no memory."""


class KnownAddresses:
    """Number texts of addresses from 0 on. One thread at a time uses this object."""

    def __init__(self) -> None:
        self._begin(None)

    def _begin(self, geo: GeoData | None) -> None:
        self._geo = geo
        # Polars keeps the numbers as long as there is a column of this type.
        self._texts = pl.Series(dtype=pl.Categorical(pl.Categories.random()))
        self._locations = pl.Series(dtype=pl.UInt32)

    def numbered(self, texts: pl.Series, geo: GeoData) -> pl.Series:
        """Return the number of each text; null for null. Numbers are valid until the next call."""
        if geo is not self._geo or len(self._locations) > MAX_KNOWN:
            self._begin(geo)
        too_long = texts.str.len_bytes() > MAX_TEXT
        if too_long.any():
            texts = texts.set(too_long.fill_null(value=False), _NO_ADDRESS)
        return texts.cast(self._texts.dtype).to_physical()

    def locations(self, numbers: pl.Series) -> pl.Series:
        """Return the location of the text of each number; null if the text is not an address."""
        highest, known = numbers.max(), len(self._locations)
        if isinstance(highest, int) and highest >= known:
            new = pl.int_range(known, highest + 1, dtype=pl.UInt32, eager=True)
            self._locations = pl.concat([self._locations, self._looked_up(new)], rechunk=True)
        return self._locations.gather(numbers)

    def _looked_up(self, numbers: pl.Series) -> pl.Series:
        assert self._geo is not None
        addresses = parsed(numbers.cat.to(self._texts.dtype).cast(pl.String))
        of_ipv4, of_ipv6 = (
            _found(addresses[name], ranges)
            for name, ranges in (("ipv4", self._geo.ipv4), ("ipv6", self._geo.ipv6))
        )
        return of_ipv4.zip_with(of_ipv4.is_not_null(), of_ipv6)


def _found(addresses: pl.Series, ranges: AddressRanges) -> pl.Series:
    """Return the location of each of *addresses*; null for null."""
    present = addresses.is_not_null()
    if not present.any():
        return pl.repeat(None, len(addresses), dtype=pl.UInt32, eager=True)
    found = ranges.find(addresses.fill_null(0).cast(ranges.starts.dtype))
    return found.zip_with(present, pl.Series([None], dtype=found.dtype))
