"""Geo tables: both formats, gaps, strict addresses, reload."""

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from ipaddress import ip_address, ip_network
from pathlib import Path

import pytest

from faults.servers import Server
from holdfast import BadGeoData, GeoLocation, GeoTable, Holdfast
from tallies.tables import (
    BLOCKS,
    LOCATION_OF,
    LOCATIONS,
    record,
    small_table,
    write_csv,
    write_mmdb,
)


def from_csv(folder: Path) -> GeoTable:
    blocks, locations = write_csv(folder)
    return GeoTable.from_geolite2_csv(blocks, locations)


@pytest.fixture(params=[small_table, from_csv], ids=["mmdb", "csv"], scope="module")
def table(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> GeoTable:
    made: GeoTable = request.param(tmp_path_factory.mktemp("table"))
    return made


def test_a_network_contains_its_ends_and_not_their_neighbours(table: GeoTable) -> None:
    """An address in a gap does not get the location of the network before it."""
    for network, location in LOCATION_OF.items():
        first, last = ip_network(network)[0], ip_network(network)[-1]
        assert table.lookup(first) == table.lookup(str(last)) == GeoLocation(*location)
        for neighbour in (int(first) - 1, int(last) + 1):
            assert table.lookup(type(first)(neighbour)) is None
    assert table.lookup("0.0.0.0") is None
    assert table.lookup("255.255.255.255") is None
    assert table.lookup("ffff::") is None


@pytest.mark.parametrize(
    "address",
    ["1.0.0", "1", "1.0.0.256", "999.999.1.1", "01.0.0.1", "1.0.0.1:80", "[2001:4860::1]", "-", "",
     " 1.0.0.1", "1.0.0.1 ", "fe80::1%eth0", "1.0.0.0/24", "\u0661.0.0.1", "0x1.0.0.1"],
)  # fmt: skip
def test_an_invalid_address_raises_an_error(table: GeoTable, address: str) -> None:
    with pytest.raises(ValueError):  # noqa: PT011 - the text is from the standard library
        table.lookup(address)


def test_an_ipv4_address_in_ipv6_form_is_found(table: GeoTable) -> None:
    assert table.lookup("::ffff:173.194.38.137") == GeoLocation("US", "California", "Mountain View")


def test_private_addresses_have_no_location(table: GeoTable) -> None:
    for address in ("10.1.2.3", "192.168.0.1", "127.0.0.1", "fe80::1", "::1"):
        assert table.lookup(address) is None


def test_a_table_may_know_private_addresses(tmp_path: Path) -> None:
    path = write_mmdb(tmp_path / "own.mmdb", {"10.1.0.0/16": record(("DE", None, "Office"))})
    table = GeoTable.from_mmdb(path)
    assert table.lookup("10.1.2.3") == GeoLocation("DE", None, "Office")
    assert table.lookup("10.2.2.3") is None


@pytest.mark.parametrize("version", [4, 6])
def test_networks_of_all_sizes_side_by_side(tmp_path: Path, version: int) -> None:
    bits = 32 if version == 4 else 128
    base = int(ip_address("8.0.0.0" if version == 4 else "2400::"))
    networks, at = {}, base
    for length in (bits, bits, bits - 1, bits - 3, bits - 2, bits - 9, bits - 8):
        size = 2 ** (bits - length)
        at = -(-at // size) * size  # the next aligned address; the addresses between are a gap
        network = str(ip_network((at, length)))
        networks[network] = record(("DE", None, network))
        at += size + (length % 2)
    table = GeoTable.from_mmdb(write_mmdb(tmp_path / "x.mmdb", networks, version=version))
    known = list(map(ip_network, networks))
    for probe in {int(n[i]) + d for n in known for i in (0, -1) for d in (-1, 0, 1)}:
        address = ip_address(probe) if version == 4 else ip_address(probe.to_bytes(16))
        expected = next((str(n) for n in known if address in n), None)
        found = table.lookup(address)
        assert (found.city if found else None) == expected


def test_names_are_in_the_requested_language(tmp_path: Path) -> None:
    table = GeoTable.from_mmdb(write_mmdb(tmp_path / "x.mmdb"), locale="de")
    assert table.lookup("1.0.0.1") == GeoLocation("AU", "Queensland", "Brisbane (de)")


def test_a_record_may_have_any_type(tmp_path: Path) -> None:
    records = {
        "1.0.0.0/24": {"country": "DE", "city": {"names": ["x"]}, "subdivisions": {}},
        "2.0.0.0/24": "Berlin",
        "3.0.0.0/24": {"country": {"iso_code": 7}, "city": {"names": {"fr": "Genève"}}},
        "4.0.0.0/24": {"city": {"names": {"en": "Geneva"}}, "subdivisions": []},
    }
    table = GeoTable.from_mmdb(write_mmdb(tmp_path / "x.mmdb", records))
    assert table.lookup("4.0.0.1") == GeoLocation(None, None, "Geneva")
    assert [table.lookup(f"{n}.0.0.1") for n in (1, 2, 3)] == [None] * 3


def test_a_failed_reload_keeps_the_old_data(tmp_path: Path) -> None:
    path = tmp_path / "places.mmdb"
    table = small_table(tmp_path)
    before = table.data
    write_mmdb(path, {"1.0.0.0/24": record(("NZ", None, None))})
    table.reload()
    assert table.lookup("1.0.0.1") == GeoLocation("NZ", None, None)
    assert table.lookup("8.8.8.8") is None
    path.write_bytes(path.read_bytes()[:500])
    with pytest.raises(BadGeoData, match=r"places\.mmdb"):
        table.reload()
    path.unlink()
    with pytest.raises(FileNotFoundError):
        table.reload()
    assert table.lookup("1.0.0.1") == GeoLocation("NZ", None, None)
    assert before.location(ip_address("1.0.0.1")) == ("AU", "Queensland", "Brisbane")


def test_a_table_shows_its_file_and_size(tmp_path: Path) -> None:
    table = small_table(tmp_path)
    assert "places.mmdb" in repr(table)
    assert len(table) > len(LOCATION_OF)
    assert table.built_at is not None
    assert from_csv(tmp_path).built_at is None


@pytest.mark.parametrize(
    ("blocks", "locations", "problem"),
    [
        ("network\n1.0.0.0/24\n", None, "columns are missing.*geoname_id"),
        (None, "geoname_id,city_name\n1,x\n", "columns are missing.*country_iso_code"),
        (f"{BLOCKS}\n1.0.0.0/33,1,,,\n", None, "'1.0.0.0/33' is not a network"),
        (f"{BLOCKS}\nnonsense,1,,,\n", None, "is not a network"),
        (f"{BLOCKS}\n1.0.0.0/24,1,,,\n1.0.0.128/25,2,,,\n", None, "networks overlap"),
        (f"{BLOCKS}\n1.0.0.1/24,1,,,\n", None, "1.0.0.1 is not the first address"),
        (f"{BLOCKS}\n2001::1/32,1,,,\n", None, "is not a network"),
        ("", None, "columns are missing"),
        ("\x00\xff", None, "columns"),
    ],
)
def test_an_invalid_csv_file_is_rejected(
    tmp_path: Path, blocks: str | None, locations: str | None, problem: str
) -> None:
    paths, names = write_csv(tmp_path)
    if blocks is not None:
        paths[0].write_text(blocks, encoding="latin-1")
    if locations is not None:
        names.write_text(locations)
    with pytest.raises(BadGeoData, match=problem):
        GeoTable.from_geolite2_csv(paths[0], names)


def test_unknown_ids_and_empty_fields_have_no_location(tmp_path: Path) -> None:
    blocks, locations = tmp_path / "b.csv", tmp_path / "l.csv"
    blocks.write_text(f"{BLOCKS}\n1.0.0.0/24,,,,\n1.0.1.0/24,5,,,\n1.0.2.0/24,6,,,\n")
    locations.write_text(f"{LOCATIONS}\n6,en,,,,\n")
    table = GeoTable.from_geolite2_csv(blocks, locations)
    assert [table.lookup(f"1.0.{n}.1") for n in range(3)] == [None] * 3


def test_files_must_be_given(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="one file at least"):
        GeoTable.from_geolite2_csv([], tmp_path)
    for path in (tmp_path / "none.csv", tmp_path):
        with pytest.raises(OSError):  # noqa: PT011 - several types
            GeoTable.from_geolite2_csv(path, path)


def test_a_feed_delivers_a_new_table(standalone: Server, tmp_path: Path) -> None:
    folder = tmp_path / "consumer"
    folder.mkdir()
    table = GeoTable.from_mmdb(write_mmdb(folder / "places.mmdb"))
    made = write_mmdb(tmp_path / "places.mmdb", {"1.0.0.0/24": record(("NZ", None, None))})
    with Holdfast.from_url(standalone.url, namespace=tmp_path.name) as hf:
        feed = hf.file_feed("tables", consumers=["geo-1"])
        feed.publish(made)
        feed.seal()
        for file in feed.consumer("geo-1").files():
            with file:
                file.save_to(folder)
                table.reload()
    assert table.lookup("1.0.0.1") == GeoLocation("NZ", None, None)
    assert table.lookup("8.8.8.8") is None


def test_a_reload_does_not_disturb_lookups(tmp_path: Path) -> None:
    table = small_table(tmp_path)
    path, first = tmp_path / "places.mmdb", (tmp_path / "places.mmdb").read_bytes()
    second = write_mmdb(
        tmp_path / "other.mmdb", {"1.0.0.0/24": record(("NZ", None, None))}
    ).read_bytes()

    def look_up() -> set[str | None]:
        return {found.country for _ in range(3_000) if (found := table.lookup("1.0.0.1"))}

    with ThreadPoolExecutor(2) as threads:
        lookups = [threads.submit(look_up) for _ in range(2)]
        while not all(each.done() for each in lookups):
            for data in (second, first):
                path.write_bytes(data)
                table.reload()
        assert all(set() < each.result() <= {"AU", "NZ"} for each in lookups)


LOAD = """
import gc, os, random, sys, time
from ipaddress import IPv4Address
import polars as pl
from holdfast import GeoTable
def mib():
    with open("/proc/self/statm") as statm:
        return int(statm.read().split()[1]) * os.sysconf("SC_PAGESIZE") / 2**20
pl.DataFrame({"a": [2, 1]}).sort("a").group_by("a").len()
before = mib()
table = GeoTable.from_geolite2_csv(sys.argv[1], sys.argv[2])
gc.collect()
ends = time.monotonic() + 30
while (taken := mib() - before) > 200 and time.monotonic() < ends:
    time.sleep(0.1)  # the allocator returns memory late
dice = random.Random(1)
for n in dice.sample(range(3_000_000), 2000):
    first = 2**24 + 256 * n
    city = n * 7 % 350_000 + 1
    for address in (first, first + 255):
        place = table.lookup(IPv4Address(address))
        assert place == (f"C{city % 250}", f"Region {city % 4000}", f"City {city}"), place
print(len(table), round(taken))
"""


@pytest.mark.long
@pytest.mark.timeout(600)
def test_three_million_networks_fit_into_200_mib(tmp_path: Path) -> None:
    blocks, cities = tmp_path / "blocks.csv", tmp_path / "cities.csv"
    with blocks.open("w") as file:
        file.write("network,geoname_id\n")
        for n in range(3_000_000):
            file.write(f"{ip_address(2**24 + 256 * n)}/24,{n * 7 % 350_000 + 1}\n")
    with cities.open("w") as file:
        file.write("geoname_id,country_iso_code,subdivision_1_name,city_name\n")
        for n in range(1, 350_001):
            file.write(f"{n},C{n % 250},Region {n % 4000},City {n}\n")
    done = subprocess.run(
        [sys.executable, "-c", LOAD, blocks, cities], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    ranges, mib = map(int, done.stdout.split())
    assert ranges >= 3_000_000
    assert mib <= 200
