"""Load MaxMind databases: a binary tree of networks with leaves that point to records.

    node          two tree records of 24, 28 or 32 bits: for a next address bit of 0, and of 1
    tree record   < number of nodes: a node
                  = number of nodes: the location is unknown
                  > number of nodes: offset in the data section

The library `maxminddb` is used for the metadata only. It walks the tree network by network, which
takes minutes for millions of networks. This module processes all nodes of one depth together. A
file may be damaged or malicious. So the number of visited nodes is limited, which prevents an
endless loop, and every pointer is checked before it is used.

Format: https://maxmind.github.io/MaxMind-DB/, version 2.0.
"""

from __future__ import annotations

from io import BytesIO
from pathlib import Path
from typing import Any, Final, NoReturn

import maxminddb
import polars as pl

from ...errors import BadGeoData
from ...errors.one_line_logger import logger_of
from .geo_data import FIRST_LOCATION, UNKNOWN, AddressRanges, GeoData
from .mmdb_records import BadRecord, RecordDecoder

NameTriple = tuple[str | None, str | None, str | None]

logger: Final = logger_of("holdfast.tallies")

_SEPARATOR: Final = 16
"""Number of zero bytes between the tree and the data section."""

_MARKER: Final = b"\xab\xcd\xefMaxMind.com"

_LATEST_EPOCH: Final = 253_402_300_799
"""Maximum build time: the end of the year 9999, in epoch seconds."""

_HIGH: Final = bytes(byte >> 4 for byte in range(256))
_LOW: Final = bytes(byte & 15 for byte in range(256))


def load(path: str, locale: str) -> GeoData:
    """Load the data of a database; see `GeoTable.from_mmdb`."""
    data = Path(path).read_bytes()
    try:
        # Read from memory, because reading a mapped file that was truncated crashes the process.
        with maxminddb.open_database(BytesIO(data), maxminddb.MODE_FD) as reader:
            return _Database(path, data, reader.metadata(), locale).load()
    except maxminddb.InvalidDatabaseError as error:
        problem = str(error).partition(". ")[0] if "<class" in str(error) else str(error)
        raise BadGeoData(path, problem) from None
    except BadRecord as error:
        raise BadGeoData(path, str(error)) from None
    except BadGeoData:
        raise
    except (AttributeError, OverflowError, TypeError, ValueError) as error:
        raise BadGeoData(path, f"its metadata is wrong: {error}") from None


class _Database:
    """Load one database."""

    def __init__(self, path: str, data: bytes, metadata: Any, locale: str) -> None:
        self._path = path
        self._data = data
        self._locale = locale
        self._count: int = metadata.node_count
        self._bits = 128 if metadata.ip_version == 6 else 32
        self._record_bits: int = metadata.record_size
        self._built_at: int = metadata.build_epoch
        self._tree_bytes = self._count * self._record_bits // 4
        self._end = data.rfind(_MARKER)  # the data section ends where the metadata begins
        self._ipv4_root: int | None = None
        self._check()

    def _check(self) -> None:
        if self._record_bits not in (24, 28, 32):
            self._refuse(f"its records have {self._record_bits} bits")
        if not self._count > 0 or self._tree_bytes + _SEPARATOR > len(self._data):
            self._refuse(f"it has fewer than the {self._count:,} nodes in its metadata")
        if not 0 <= self._built_at <= _LATEST_EPOCH:
            self._refuse(f"its build time is {self._built_at:,} s after 1970")

    def load(self) -> GeoData:
        """Return the data of the database."""
        leaves = self._leaves()
        numbers, locations = self._locations(leaves)
        leaves = leaves.join(numbers, on="node", how="left").with_columns(
            pl.col("location").fill_null(UNKNOWN)
        )
        ipv4 = leaves
        if self._bits == 128:  # the IPv4 addresses are the first 2**32 addresses of IPv6
            ipv4 = leaves.filter(pl.col("start") < pl.lit(2**32, pl.UInt128))
            ipv6 = leaves.filter(pl.col("start") >= pl.lit(2**32, pl.UInt128))
        else:
            ipv6 = leaves.clear()
        return GeoData.build(
            AddressRanges.build(ipv4["start"], ipv4["location"], 4),
            AddressRanges.build(ipv6["start"], ipv6["location"], 6),
            locations,
            self._built_at,
        )

    def _leaves(self) -> pl.DataFrame:
        """Return columns `start` (first address, ascending) and `node` (tree record) of all leaves.

        The tree record is the number of nodes if the location is unknown.
        """
        records = self._tree_records()
        beyond = (records >= self._count + self._end - self._tree_bytes) | (
            (records > self._count) & (records < self._count + _SEPARATOR)
        )
        if beyond.any():
            self._refuse("its tree points out of the data")
        if (records == 0).any():  # bytes of an incomplete file may be 0
            self._refuse("its tree points back to the root")
        zeros, ones = records.gather_every(2), records.gather_every(2, 1)
        self._ipv4_root = self._find_ipv4_root(zeros)
        level = pl.DataFrame(
            {"node": pl.Series([0], dtype=pl.UInt32), "start": pl.Series([0], dtype=pl.UInt128)}
        )
        found, visited = [], 0
        for depth in range(self._bits):
            visited += level.height
            if visited > self._count:
                self._refuse("its tree has a cycle")
            step = pl.lit(2 ** (self._bits - 1 - depth), pl.UInt128)
            level = pl.concat(
                [
                    level.select(node=zeros.gather(level["node"]), start="start"),
                    level.select(node=ones.gather(level["node"]), start=pl.col("start") + step),
                ]
            )
            level = self._without_aliases(level)
            inner = pl.col("node") < self._count
            found.append(level.filter(~inner))
            level = level.filter(inner)
        if level.height:
            self._refuse("its tree is deeper than an address is long")
        return pl.concat(found).sort("start")

    def _without_aliases(self, level: pl.DataFrame) -> pl.DataFrame:
        """Make the location unknown for IPv6 networks that are aliases of the IPv4 subtree."""
        if self._ipv4_root is None:
            return level
        alias = (pl.col("node") == self._ipv4_root) & (pl.col("start") != 0)
        unknown = pl.lit(self._count, pl.UInt32)
        return level.with_columns(node=pl.when(alias).then(unknown).otherwise("node"))

    def _find_ipv4_root(self, zeros: pl.Series) -> int | None:
        """Return the node above all IPv4 addresses (::/96) in an IPv6 tree; None if there is
        none."""
        node = 0
        for _ in range(96 if self._bits == 128 else 0):
            if node >= self._count:
                return None
            node = zeros[node]
        return node if self._bits == 128 and node < self._count else None

    def _tree_records(self) -> pl.Series:
        """Return the tree records, two for each node."""
        tree = self._data[: self._tree_bytes]
        wide = bytearray(tree)
        if self._record_bits != 32:  # widen the records to 32 bits, big-endian
            wide = bytearray(8 * self._count)
            step, second = (6, 3) if self._record_bits == 24 else (7, 4)
            for i in range(3):
                wide[1 + i :: 8] = tree[i::step]
                wide[5 + i :: 8] = tree[second + i :: step]
            if self._record_bits == 28:  # the byte between two records has the high bits of both
                wide[0::8] = tree[3::7].translate(_HIGH)
                wide[4::8] = tree[3::7].translate(_LOW)
        shape = pl.Array(pl.UInt32, 2 * self._count)
        return pl.Series([bytes(wide)]).bin.reinterpret(dtype=shape, endianness="big").explode()

    def _locations(self, leaves: pl.DataFrame) -> tuple[pl.DataFrame, list[NameTriple]]:
        """Return the location number of each tree record in *leaves*, and the locations."""
        known = leaves.filter(pl.col("node") > self._count).unique("node", keep="any")
        wanted = {"country", "iso_code", "subdivisions", "city", "names", "en", self._locale}
        records = RecordDecoder(
            self._data[self._tree_bytes + _SEPARATOR : self._end], frozenset(wanted)
        )
        numbers: dict[NameTriple, int] = {}
        found = []
        for node in known["node"]:
            names = self._names(records.read(node - self._count - _SEPARATOR))
            found.append(
                UNKNOWN
                if names == (None, None, None)
                else numbers.setdefault(names, len(numbers) + FIRST_LOCATION)
            )
        if known.height and not numbers:
            logger.warning("no record of %s has a country, a region or a city", self._path)
        return known.select("node", location=pl.Series(found, dtype=pl.UInt32)), list(numbers)

    def _names(self, record: Any) -> NameTriple:
        """Return country, region and city in *record*, an untrusted value of any type."""
        divisions = record.get("subdivisions") if isinstance(record, dict) else None
        region = divisions[0] if isinstance(divisions, list) and divisions else None
        return (
            _text(_member(_member(record, "country"), "iso_code")),
            self._name(region),
            self._name(_member(record, "city")),
        )

    def _name(self, value: Any) -> str | None:
        names = _member(value, "names")
        return _text(_member(names, self._locale)) or _text(_member(names, "en"))

    def _refuse(self, problem: str) -> NoReturn:
        raise BadGeoData(self._path, problem)


def _member(value: Any, name: str) -> Any:
    return value.get(name) if isinstance(value, dict) else None


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) and value else None
