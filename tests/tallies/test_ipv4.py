"""Columns of texts that may be IPv4 addresses, compared with what Python says."""

from ipaddress import IPv4Address

import polars as pl
from hypothesis import example, given
from hypothesis import strategies as st

from holdfast.tallies.geo.ipv4 import ipv4_number, is_ipv4

NEARLY = st.text("0123456789. +-_x\u0661", max_size=16)
OCTETS = st.sampled_from(
    ["0", "1", "9", "10", "99", "100", "255", "256", "01", "+1", "-1", "", " 1"]
)
DOTTED = st.lists(OCTETS, min_size=3, max_size=5).map(".".join)


def number(text: str) -> int | None:
    try:
        return int(IPv4Address(text))
    except ValueError:
        return None


def numbers(texts: list[str]) -> list[int | None]:
    """As a counter takes them."""
    text, column = pl.col("text"), pl.DataFrame({"text": pl.Series(texts, dtype=pl.String)})
    found = column.select(pl.when(is_ipv4(text)).then(ipv4_number(text)))
    return found.to_series().to_list()


@given(st.lists(st.one_of(NEARLY, DOTTED, st.text(max_size=20)), max_size=20))
@example(["1.2.3.4.", ".1.2.3.4", "1.2.3.4.5", "1..2.3", "1.2.3", "255.255.255.255", "0.0.0.0"])
@example(["1e0.1.1.1", "1.0.0.1 ", "0x1.1.1.1", "1_0.1.1.1", "1.1.1.1\0", "00.0.0.0", "1.1.1.0256"])
@example(["1.1.1.1\n", "\n1.1.1.1"])
def test_texts_are_addresses_as_python_says(texts: list[str]) -> None:
    assert numbers(texts) == [number(text) for text in texts]


@given(st.lists(st.integers(0, 2**32 - 1), max_size=20))
def test_every_address_is_one(given: list[int]) -> None:
    assert numbers([str(IPv4Address(each)) for each in given]) == given
