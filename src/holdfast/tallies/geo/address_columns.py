"""Parse columns of IP addresses."""

from __future__ import annotations

from contextlib import suppress
from ipaddress import IPv4Address, IPv6Address
from typing import Final

import polars as pl

from ..addresses import parse_address

_OCTET: Final = "(?:25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9]?[0-9])"
_IPV4: Final = rf"^{_OCTET}\.{_OCTET}\.{_OCTET}\.{_OCTET}$"


def is_ipv4(column: pl.Expr) -> pl.Expr:
    """Return an expression that is true for each text of *column* that is an IPv4 address."""
    return column.str.contains(_IPV4)


def ipv4_number(column: pl.Expr) -> pl.Expr:
    """Return an expression that converts each IPv4 address of *column* to a number.

    Its value for any other text is undefined.
    """
    octets = column.str.split_exact(".", 3).struct
    parts = [octets.field(f"field_{i}").cast(pl.UInt32, strict=False) for i in range(4)]
    return parts[0] * 2**24 + parts[1] * 2**16 + parts[2] * 2**8 + parts[3]


def with_ipv6_texts(groups: pl.DataFrame) -> pl.DataFrame:
    """Replace the column `ipv4` of *groups*, and add `ipv6`: the numbers of addresses that are
    written in IPv6 form. An IPv4 address in IPv6 form gets its number in `ipv4`.
    """
    texts = groups["address"].unique()
    texts = texts.filter(texts.str.contains(":", literal=True))
    ipv4, ipv6 = [], []
    for text in texts:
        found = None
        with suppress(ValueError):
            found = parse_address(text)
        ipv4.append(int(found) if isinstance(found, IPv4Address) else None)
        ipv6.append(int(found) if isinstance(found, IPv6Address) else None)
    numbers = pl.DataFrame(
        [texts, pl.Series("ipv4", ipv4, dtype=pl.UInt32), pl.Series("ipv6", ipv6, dtype=pl.UInt128)]
    )
    return groups.drop("ipv4").join(numbers, on="address", how="left")
