"""Damaged and malicious databases: a named error, never a crash, never an endless loop."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import maxminddb
import pytest

from holdfast import BadGeoData, GeoTable
from tallies.tables import write_mmdb

TEST_FILES = Path(__file__).resolve().parents[3] / "shared" / "data" / "mmdb"
"""MaxMind's test files, if they were put beside the checkout."""


def files_of(kind: str) -> list[Any]:
    """Return the files that must load (`good`), or must be rejected (`bad`)."""
    absent = pytest.mark.skip(reason=f"no test files of MaxMind in {TEST_FILES}")
    found = sorted((TEST_FILES / kind).glob("*.mmdb"))
    return found or [pytest.param(TEST_FILES / "none", marks=absent)]


def expected(record: object) -> tuple[str | None, str | None, str | None]:
    """Return country, region and city of a valid record."""
    known = record if isinstance(record, dict) else {}
    regions = known.get("subdivisions") or [{}]
    return (
        known.get("country", {}).get("iso_code"),
        regions[0].get("names", {}).get("en"),
        known.get("city", {}).get("names", {}).get("en"),
    )


@pytest.mark.parametrize("path", files_of("good"), ids=lambda path: path.stem)
def test_good_files_equal_the_reader_of_maxmind(path: Path) -> None:
    table = GeoTable.from_mmdb(path)
    with maxminddb.open_database(path) as reader:
        for network, record in reader:
            for address in (network[0], network[-1]):
                assert (table.lookup(address) or (None, None, None)) == expected(record)


@pytest.mark.parametrize("path", files_of("bad"), ids=lambda path: path.stem)
def test_bad_files_are_refused(path: Path) -> None:
    with pytest.raises(BadGeoData, match=path.name):
        GeoTable.from_mmdb(path)


MARKER = b"\xab\xcd\xefMaxMind.com"


@pytest.mark.parametrize(
    "content",
    [b"", b"\n", MARKER, b"GIF89a" * 100, MARKER + b"\xe0", b"\0" * 5000 + MARKER + b"\xe1"],
)
def test_other_files_are_rejected(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "x.mmdb"
    path.write_bytes(content)
    with pytest.raises(BadGeoData, match=r"x\.mmdb.*download it again"):
        GeoTable.from_mmdb(path)


@pytest.mark.parametrize(
    ("record", "problem"),
    [
        (b"\0\0\0", "back to the root"),
        (b"\0\0\x05", "cycle|deeper"),
        (b"\xff\xff\xf0", "out of the"),
    ],
)
def test_an_invalid_tree_is_rejected(tmp_path: Path, record: bytes, problem: str) -> None:
    path = write_mmdb(tmp_path / "x.mmdb")
    data = bytearray(path.read_bytes())
    data[6 * 40 : 6 * 40 + 3] = record
    path.write_bytes(data)
    with pytest.raises(BadGeoData, match=problem):
        GeoTable.from_mmdb(path)


FUZZ = """
import random, sys
from pathlib import Path
from holdfast import BadGeoData, GeoTable
good, path = Path(sys.argv[1]).read_bytes(), Path(sys.argv[2])
rng, refused = random.Random(int(sys.argv[3])), 0
for n in range(int(sys.argv[4])):
    data = bytearray(good)
    for _ in range(rng.choice([1, 1, 2, 8, 64])):
        data[rng.randrange(len(data))] = rng.choice([0, 255, rng.randrange(256)])
    if n % 5 == 0:
        data = data[: rng.randrange(len(data))]
    path.write_bytes(data)
    try:
        table = GeoTable.from_mmdb(path)
        for address in ("1.0.0.1", "8.8.8.8", "2001:4860::1", "255.255.255.255"):
            table.lookup(address)
    except BadGeoData:
        refused += 1
print(refused)
"""


@pytest.mark.parametrize("files", [10, pytest.param(100, marks=pytest.mark.long)])
def test_random_damage_is_harmless(tmp_path: Path, seed: int, files: int) -> None:
    path = write_mmdb(tmp_path / "good.mmdb")
    done = subprocess.run(
        [sys.executable, "-c", FUZZ, path, tmp_path / "bad.mmdb", str(seed), str(files)],
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert 0 < int(done.stdout) <= files
