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


def parsed(texts: pl.Series) -> pl.DataFrame:
    """Return the addresses in distinct *texts* as columns `ipv4` and `ipv6`, in the same order.

    At most one of the two has a number. An IPv4 address in IPv6 form gets its number in `ipv4`.
    """
    text = pl.col("text")
    columns = pl.DataFrame({"text": texts}).with_columns(
        ipv4=pl.when(is_ipv4(text)).then(ipv4_number(text))
    )
    others = texts.filter(texts.str.contains(":", literal=True))
    if not len(others):
        return columns.select("ipv4", ipv6=pl.lit(None, dtype=pl.UInt128))
    ipv4, ipv6 = [], []
    for other in others:
        found = None
        with suppress(ValueError):
            found = parse_address(other)
        ipv4.append(int(found) if isinstance(found, IPv4Address) else None)
        ipv6.append(int(found) if isinstance(found, IPv6Address) else None)
    numbers = pl.DataFrame(
        [
            others,
            pl.Series("mapped", ipv4, dtype=pl.UInt32),
            pl.Series("ipv6", ipv6, dtype=pl.UInt128),
        ]
    ).rename({others.name: "text"})
    joined = columns.join(numbers, on="text", how="left", maintain_order="left")
    return joined.select(pl.coalesce("ipv4", "mapped"), "ipv6")
