"""Lines that are counted by the location of their address."""

import subprocess
import sys
from collections.abc import Iterable
from datetime import date
from ipaddress import IPv4Address
from pathlib import Path

import polars as pl
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from holdfast import GeoKey, GeoTable
from holdfast.tallies.counted import SAMPLES, LineCounts
from holdfast.tallies.geo import known_addresses
from holdfast.tallies.geo.address_columns import ipv4_number, is_ipv4
from holdfast.tallies.geo.geo_counter import GeoCounter
from holdfast.tallies.geo.known_addresses import KnownAddresses
from tallies.reference import VALID_DAYS, Reference
from tallies.tables import record, small_table, write_mmdb

# Small and large blocks: the counts equal those of a simple program

ADDRESSES = st.sampled_from(
    ["1.0.0.1", "1.0.50.1", "173.194.38.137", "8.8.8.8", "10.0.0.1", "224.0.0.1", "255.255.255.255",
     "2001:4860::1", "2001:4860:0::0001", "2001:db8::1", "::ffff:8.8.8.8", "::1", "::",
     "fe80::1%eth0", "1.0.0", "999.999.1.1", "01.0.0.1", "1.0.0.1:80", "[2001:4860::1]", "-", ""]
)  # fmt: skip
DAYS = st.sampled_from(
    ["2011-10-10", "2011-10-11", "1970-01-01", "2026-12-31", "2027-01-01", "1969-12-31",
     "0000-01-01", "9999-12-31", "0001-01-01", "2011-02-29", "2012-02-29", "2011-13-01", "2011-1-1",
     "20111010", "2011-W41-1", "2011-10-10T", "+011-10-10", "10/Oct/2011", ""]
)  # fmt: skip
RESTS = st.sampled_from(
    ["", " 13:55:36 achievement-762", " ", " \"quoted 'x", " \t é", " a b c d e"]
)
SOUND = st.builds(lambda a, d, r: f"{a} {d}{r}".encode(), ADDRESSES, DAYS, RESTS)
ODD = st.sampled_from(
    [b"", b" ", b"   ", b"\0", b"\xff\xfe", b"1.0.0.1", b"\t", b'"', b'"1.0.0.1 2011-10-10', b"#",
     b"1.0.0.1  2011-10-10", b" 1.0.0.1 2011-10-10", b"1.0.0.1\t2011-10-10 x", b"\r", b"a\rb c",
     b"1.0.0.1 2011-10-10\0", b"\xff 2011-10-10", b"x" * 3000, b"1.0.0.1 2011-10-10 \xff\0\xff"]
)  # fmt: skip
LINES = st.one_of(SOUND, ODD, st.binary(max_size=40).map(lambda raw: raw.replace(b"\n", b" ")))
ENDS = st.sampled_from([b"\n", b"\n", b"\r\n"])

BY_COLUMNS, LINE_BY_LINE = 0, 1 << 30
"""Values of `small_block`: every block is large, or every block is small."""

both_algorithms = pytest.mark.parametrize("small_block", [BY_COLUMNS, LINE_BY_LINE])


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> GeoTable:
    return small_table(tmp_path_factory.mktemp("tables"))


def check(sums: LineCounts, reference: Reference) -> None:
    assert sums.lines == reference.lines
    assert sums.values == reference.values
    assert sums.rejected == reference.rejected
    assert {day for day, lines in sums.samples.items() if lines} == set(reference.rejected)


@settings(max_examples=25)
@given(
    blocks=st.lists(st.lists(st.tuples(LINES, ENDS), max_size=12), max_size=3),
    last=st.one_of(st.none(), LINES),
)
@example(blocks=[[(b"", b"\n")] * 20], last=None)
@example(blocks=[], last=b"1.0.0.1 2011-10-10\r")
@example(blocks=[[(b"1.0.0.1 2011-10-10\r x", b"\n"), (b"\0 \r ", b"\r\n")]], last=None)
def test_counts_equal_those_of_a_simple_program(
    table: GeoTable, blocks: list[list[tuple[bytes, bytes]]], last: bytes | None
) -> None:
    counters = [GeoCounter(GeoKey(table), small_block=size) for size in (BY_COLUMNS, LINE_BY_LINE)]
    reference = Reference(table)
    whole = [b"".join(line + end for line, end in block) for block in blocks]
    for data in filter(None, [*whole, last or b""]):
        assert [counter.add(data, VALID_DAYS) for counter in counters] == [reference.add(data)] * 2
    by_columns, by_line = (counter.take() for counter in counters)
    check(by_columns, reference)
    if sum(map(len, blocks)) < SAMPLES:  # all rejected lines are kept as samples
        assert by_line == by_columns
    else:
        check(by_line, reference)
    for day_and_dimension, values in by_columns.values.items():
        assert list(by_line.values[day_and_dimension].items()) == list(
            values.items()
        )  # in the same order
    assert [counter.take() for counter in counters] == [LineCounts(), LineCounts()]


@pytest.mark.parametrize("small_block", [BY_COLUMNS, LINE_BY_LINE, 20_000])
def test_many_blocks_add_up(table: GeoTable, small_block: int) -> None:
    """There are more pairs than the dict keeps; 20,000 bytes use both algorithms in turn."""
    counter, reference = GeoCounter(GeoKey(table), small_block=small_block), Reference(table)
    for n in range(40):
        data = b"".join(
            b"1.0.0.%d 2011-10-%02d x\n" % (i % 256, 10 + i % 20) for i in range(n * 7 % 40 * 50)
        )
        if data:
            counter.add(data, VALID_DAYS)
            reference.add(data)
    assert counter.size > 0
    check(counter.take(), reference)


@both_algorithms
@pytest.mark.parametrize("count", [300, pytest.param(3_000, marks=pytest.mark.long)])
def test_thousands_of_days_add_up(table: GeoTable, small_block: int, count: int) -> None:
    first = date(1990, 1, 1).toordinal()
    days = [date.fromordinal(first + n).isoformat().encode() for n in range(count)]
    data = b"".join(b"8.8.8.8 %s x\n" % day for day in days)
    counter, reference = GeoCounter(GeoKey(table), small_block=small_block), Reference(table)
    for _ in range(2):
        counter.add(data, VALID_DAYS)
        reference.add(data)
    check(counter.take(), reference)


@both_algorithms
def test_many_addresses_add_up(table: GeoTable, small_block: int) -> None:
    addresses = [b"%d.%d.4.1" % (n, n % 7) for n in range(200)]
    addresses += [b"2a02:81%02x::1" % n for n in range(100)]
    data = b"".join(b"%s 2011-10-10 x\n" % address for address in addresses)
    counter, reference = GeoCounter(GeoKey(table), small_block=small_block), Reference(table)
    assert counter.add(data, VALID_DAYS) == reference.add(data) == 300
    check(counter.take(), reference)


YESTERDAY = b"1.0.0.1 2011-10-10 a\n"
TODAY = b"1.0.0.1 2011-10-11 b\n"


@pytest.mark.parametrize(
    ("data", "offset"),
    [
        (YESTERDAY * 2 + TODAY * 3, 2 * len(YESTERDAY)),
        (YESTERDAY + b"1.0.0.1 2011-10-11\r\n", len(YESTERDAY)),
        (YESTERDAY + b"1.0.0.1 2011-10-11", len(YESTERDAY)),
        (TODAY + YESTERDAY + TODAY, 0),
        (YESTERDAY * 2, 0),
        (YESTERDAY + b"1.0.0.1 tomorrow\n", 0),
        (YESTERDAY + b"1.0.0.1 \t2011-10-11\n", 0),
        (YESTERDAY + b"\xff \xff\n", 0),
        (YESTERDAY + b"\n", 0),
        (b"", 0),
    ],
)
def test_a_new_day_is_found(table: GeoTable, data: bytes, offset: int) -> None:
    for small_block in (BY_COLUMNS, LINE_BY_LINE):
        counter = GeoCounter(GeoKey(table), small_block=small_block)
        counter.add(YESTERDAY, VALID_DAYS)
        assert counter.new_day_offset(data) == offset


@both_algorithms
def test_the_first_rejected_lines_are_samples(table: GeoTable, small_block: int) -> None:
    counter = GeoCounter(GeoKey(table), small_block=small_block)
    bad = [b"x%d 2011-10-10 %s" % (n % 20, b"y" * 500) for n in range(1000)]
    counter.add(b"1.0.0.1 2011-10-10\n" + b"\n".join(bad), VALID_DAYS)
    samples = counter.take().samples["2011-10-10"]
    assert len(samples) == len(set(samples)) == 10
    assert all(sample in {line[:200] for line in bad} for sample in samples)


@both_algorithms
def test_a_key_may_have_fewer_dimensions(table: GeoTable, small_block: int) -> None:
    counter = GeoCounter(GeoKey(table, dimensions=["country"]), small_block=small_block)
    counter.add(b"1.0.0.1 2011-10-10\n", VALID_DAYS)
    assert counter.take().values == {("2011-10-10", "country"): {"AU": 1}}
    for wrong in (["planet"], "country"):
        with pytest.raises(ValueError, match="dimensions must be some of"):
            GeoKey(table, dimensions=wrong)


@both_algorithms
def test_a_reload_applies_to_later_lines(tmp_path: Path, small_block: int) -> None:
    table = small_table(tmp_path)
    counter = GeoCounter(GeoKey(table, dimensions=["country"]), small_block=small_block)
    counter.add(b"1.0.0.1 2011-10-10\n1.0.4.1 2011-10-10\n", VALID_DAYS)
    write_mmdb(tmp_path / "places.mmdb", {"1.0.0.0/24": record(("NZ", None, None))})
    table.reload()
    counter.add(b"1.0.0.1 2011-10-10\n1.0.4.1 2011-10-10\n", VALID_DAYS)
    assert counter.take().values == {("2011-10-10", "country"): {"AU": 2, "NZ": 1, "??": 1}}


# Locations of addresses, which several counters share


def lines_with(addresses: Iterable[bytes]) -> bytes:
    return b"".join(b"%s 2011-10-10 x\n" % address for address in addresses)


@pytest.mark.parametrize("most", [3, known_addresses.MAX_KNOWN])
def test_later_counters_use_what_earlier_ones_looked_up(
    table: GeoTable, most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All addresses are forgotten when more than *most* of them are known."""
    monkeypatch.setattr(known_addresses, "MAX_KNOWN", most)
    known = KnownAddresses()
    texts = [b"8.8.8.8", b"nonsense", b"2001:4860::1", b"::ffff:8.8.8.8", b"1.0.0.1", b"", b"::1"]
    for first in range(len(texts)):
        counter = GeoCounter(GeoKey(table), known, small_block=BY_COLUMNS)
        reference = Reference(table)
        for data in (lines_with(texts[first:]), lines_with(texts[: first + 2])):
            assert counter.add(data, VALID_DAYS) == reference.add(data)
        check(counter.take(), reference)


@both_algorithms
def test_addresses_may_have_45_bytes_and_longer_texts_are_none(
    table: GeoTable, small_block: int
) -> None:
    longest = b"0000:0000:0000:0000:0000:ffff:255.255.255.255"
    data = lines_with([longest, b"0" + longest, b"x" * 1000, b"8.8.8.8"]) + b"y" * 500 + b"\n"
    counter, reference = GeoCounter(GeoKey(table), small_block=small_block), Reference(table)
    assert counter.add(data, VALID_DAYS) == reference.add(data) == 5
    counts = counter.take()
    check(counts, reference)
    assert counts.rejected == {"2011-10-10": {"no address": 2}, "": {"malformed": 1}}


def test_known_addresses_are_looked_up_again_after_a_reload(tmp_path: Path) -> None:
    table, known = small_table(tmp_path), KnownAddresses()
    found = []
    for _ in range(2):
        counter = GeoCounter(GeoKey(table, dimensions=["country"]), known, small_block=BY_COLUMNS)
        counter.add(lines_with([b"1.0.0.1"]), VALID_DAYS)
        found.append(counter.take().values["2011-10-10", "country"])
        write_mmdb(tmp_path / "places.mmdb", {"1.0.0.0/24": record(("NZ", None, None))})
        table.reload()
    assert found == [{"AU": 1}, {"NZ": 1}]


# Columns of texts: they are parsed as Python parses IPv4 addresses

SIMILAR = st.text("0123456789. +-_x\u0661", max_size=16)
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
    text, column = pl.col("text"), pl.DataFrame({"text": pl.Series(texts, dtype=pl.String)})
    found = column.select(pl.when(is_ipv4(text)).then(ipv4_number(text)))
    return found.to_series().to_list()


@settings(max_examples=25)
@given(st.lists(st.one_of(SIMILAR, DOTTED, st.text(max_size=20)), max_size=20))
@example(["1.2.3.4.", ".1.2.3.4", "1.2.3.4.5", "1..2.3", "1.2.3", "255.255.255.255", "0.0.0.0"])
@example(["1e0.1.1.1", "1.0.0.1 ", "0x1.1.1.1", "1_0.1.1.1", "1.1.1.1\0", "00.0.0.0", "1.1.1.0256"])
@example(["1.1.1.1\n", "\n1.1.1.1"])
def test_texts_are_parsed_as_by_python(texts: list[str]) -> None:
    assert numbers(texts) == [number(text) for text in texts]


@given(st.lists(st.integers(0, 2**32 - 1), max_size=20))
def test_every_number_is_an_address(given: list[int]) -> None:
    assert numbers([str(IPv4Address(each)) for each in given]) == given


MANY_BLOCKS = """
import os, sys
from ipaddress import IPv4Address
from holdfast import GeoKey, GeoTable
from holdfast.tallies.days import DayRange
from holdfast.tallies.geo.geo_counter import GeoCounter
def mib():
    with open("/proc/self/statm") as statm:
        return int(statm.read().split()[1]) * os.sysconf("SC_PAGESIZE") / 2**20
def line(number):
    return f"{IPv4Address(number)} 2011-10-10\\n".encode()
visitors = b"".join(line(2**31 + n) for n in range(100_000))
counter = GeoCounter(GeoKey(GeoTable.from_mmdb(sys.argv[1])))
for n in range(80):
    counter.add(visitors + line(2**30 + n), DayRange("2011-10-10", "2011-10-10"))
    if n == 20:
        before = mib()
print(round(mib() - before))
"""


def test_a_new_address_keeps_no_memory_of_the_block_that_it_is_in(tmp_path: Path) -> None:
    write_mmdb(tmp_path / "places.mmdb", {"1.0.0.0/24": record(("AU", None, None))})
    command = [sys.executable, "-c", MANY_BLOCKS, tmp_path / "places.mmdb"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) < 40
