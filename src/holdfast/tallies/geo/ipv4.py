"""IPv4 addresses, a column of them at once."""

from __future__ import annotations

from typing import Final

import polars as pl

_OCTET: Final = "(?:25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9]?[0-9])"
_IPV4: Final = rf"^{_OCTET}\.{_OCTET}\.{_OCTET}\.{_OCTET}$"


def is_ipv4(column: pl.Expr) -> pl.Expr:
    """Whether the texts of a column are IPv4 addresses."""
    return column.str.contains(_IPV4)


def ipv4_number(column: pl.Expr) -> pl.Expr:
    """The numbers of a column of IPv4 addresses; of other texts null, or whatever."""
    octets = column.str.split_exact(".", 3).struct
    parts = [octets.field(f"field_{i}").cast(pl.UInt32, strict=False) for i in range(4)]
    return parts[0] * 2**24 + parts[1] * 2**16 + parts[2] * 2**8 + parts[3]
