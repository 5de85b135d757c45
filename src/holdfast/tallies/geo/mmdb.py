"""MaxMind's databases: a binary tree of networks, whose leaves point at records.

    node n = two records of 24, 28 or 32 bits: where an address goes on with a 0, and with a 1
    record < count: that node · = count: nothing is known · > count: a place in the data section

The library reads the metadata. It would walk the tree a network at a time, which takes minutes for
millions; here all nodes of one depth go together. A file may be damaged, or made to do harm: each
node is visited once, so nothing loops, and every pointer is checked before it is used.

Format: https://maxmind.github.io/MaxMind-DB/, version 2.0.
"""

from __future__ import annotations

from io import BytesIO
from pathlib import Path
from typing import Any, Final, NoReturn

import maxminddb
import polars as pl

from ...errors import BadGeoData
from ...errors.records import logger_of
from .atlas import FIRST_PLACE, NOWHERE, Atlas, Ranges
from .records import BadRecord, Records

Triple = tuple[str | None, str | None, str | None]

logger: Final = logger_of("holdfast.tallies")

_SEPARATOR: Final = 16
"""Zero bytes between the tree and the data."""

_MARKER: Final = b"\xab\xcd\xefMaxMind.com"

_LATEST_EPOCH: Final = 253_402_300_799
"""The end of the year 9999: no table was made later."""

_HIGH: Final = bytes(byte >> 4 for byte in range(256))
_LOW: Final = bytes(byte & 15 for byte in range(256))


def load(path: str, locale: str) -> Atlas:
    """The atlas of a database; see `GeoTable.from_mmdb`."""
    data = Path(path).read_bytes()
    try:
        # From memory: a file that is mapped, and then cut short, ends the process that reads it.
        with maxminddb.open_database(BytesIO(data), maxminddb.MODE_FD) as reader:
            return _Database(path, data, reader.metadata(), locale).atlas()
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
    """One database while it is read."""

    def __init__(self, path: str, data: bytes, told: Any, locale: str) -> None:
        self._path = path
        self._data = data
        self._locale = locale
        self._count: int = told.node_count
        self._bits = 128 if told.ip_version == 6 else 32
        self._record_bits: int = told.record_size
        self._built_at: int = told.build_epoch
        self._tree_bytes = self._count * self._record_bits // 4
        self._end = data.rfind(_MARKER)  # the data ends where the metadata begins
        self._four: int | None = None
        self._check()

    def _check(self) -> None:
        if self._record_bits not in (24, 28, 32):
            self._refuse(f"its records have {self._record_bits} bits")
        if not self._count > 0 or self._tree_bytes + _SEPARATOR > len(self._data):
            self._refuse(f"it has not the {self._count:,} nodes that it says")
        if not 0 <= self._built_at <= _LATEST_EPOCH:
            self._refuse(f"it was made {self._built_at:,} s after 1970, it says")

    def atlas(self) -> Atlas:
        """All that it knows."""
        leaves = self._leaves()
        numbers, places = self._places(leaves)
        leaves = leaves.join(numbers, on="node", how="left").with_columns(
            pl.col("place").fill_null(NOWHERE)
        )
        four = leaves
        if self._bits == 128:  # those of IPv4 are the first ones of IPv6
            four = leaves.filter(pl.col("start") < pl.lit(2**32, pl.UInt128))
            six = leaves.filter(pl.col("start") >= pl.lit(2**32, pl.UInt128))
        else:
            six = leaves.clear()
        return Atlas.of(
            Ranges.of(four["start"], four["place"], 4),
            Ranges.of(six["start"], six["place"], 6),
            places,
            self._built_at,
        )

    def _leaves(self) -> pl.DataFrame:
        """First address and record of every leaf, ascending; record `count`: nothing is known."""
        records = self._records()
        beyond = (records >= self._count + self._end - self._tree_bytes) | (
            (records > self._count) & (records < self._count + _SEPARATOR)
        )
        if beyond.any():
            self._refuse("its tree leads out of the data")
        if (records == 0).any():  # also in nodes that nobody reaches: what was never written is 0
            self._refuse("its tree leads back to the root")
        zeros, ones = records.gather_every(2), records.gather_every(2, 1)
        self._four = self._four_root(zeros)
        level = pl.DataFrame(
            {"node": pl.Series([0], dtype=pl.UInt32), "start": pl.Series([0], dtype=pl.UInt128)}
        )
        found, visited = [], 0
        for depth in range(self._bits):
            visited += level.height
            if visited > self._count:
                self._refuse("its tree leads in circles")
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
        """The tree of IPv4 hangs in that of IPv6 under several names: only its own one counts."""
        if self._four is None:
            return level
        alias = (pl.col("node") == self._four) & (pl.col("start") != 0)
        nothing = pl.lit(self._count, pl.UInt32)
        return level.with_columns(node=pl.when(alias).then(nothing).otherwise("node"))

    def _four_root(self, zeros: pl.Series) -> int | None:
        """The node below which the addresses of IPv4 are, in a tree of IPv6."""
        node = 0
        for _ in range(96 if self._bits == 128 else 0):
            if node >= self._count:
                return None
            node = zeros[node]
        return node if self._bits == 128 and node < self._count else None

    def _records(self) -> pl.Series:
        """All records of the tree, two for each node."""
        tree = self._data[: self._tree_bytes]
        wide = bytearray(tree)
        if self._record_bits != 32:  # spread the bytes out to 32 bits, the first one highest
            wide = bytearray(8 * self._count)
            step, second = (6, 3) if self._record_bits == 24 else (7, 4)
            for i in range(3):
                wide[1 + i :: 8] = tree[i::step]
                wide[5 + i :: 8] = tree[second + i :: step]
            if self._record_bits == 28:  # the byte between them has the highest bits of both
                wide[0::8] = tree[3::7].translate(_HIGH)
                wide[4::8] = tree[3::7].translate(_LOW)
        shape = pl.Array(pl.UInt32, 2 * self._count)
        return pl.Series([bytes(wide)]).bin.reinterpret(dtype=shape, endianness="big").explode()

    def _places(self, leaves: pl.DataFrame) -> tuple[pl.DataFrame, list[Triple]]:
        """The number of the place that each record stands for, and the places."""
        told = leaves.filter(pl.col("node") > self._count).unique("node", keep="any")
        wanted = {"country", "iso_code", "subdivisions", "city", "names", "en", self._locale}
        records = Records(self._data[self._tree_bytes + _SEPARATOR : self._end], frozenset(wanted))
        numbers: dict[Triple, int] = {}
        found = []
        for node in told["node"]:
            place = self._place(records.read(node - self._count - _SEPARATOR))
            found.append(
                NOWHERE
                if place == (None, None, None)
                else numbers.setdefault(place, len(numbers) + FIRST_PLACE)
            )
        if told.height and not numbers:
            logger.warning("no record of %s has a country, a region or a city", self._path)
        return told.select("node", place=pl.Series(found, dtype=pl.UInt32)), list(numbers)

    def _place(self, record: Any) -> Triple:
        """The country, region and city of a record, whatever it is."""
        divisions = record.get("subdivisions") if isinstance(record, dict) else None
        region = divisions[0] if isinstance(divisions, list) and divisions else None
        return (
            _text(_part(_part(record, "country"), "iso_code")),
            self._name(region),
            self._name(_part(record, "city")),
        )

    def _name(self, part: Any) -> str | None:
        names = _part(part, "names")
        return _text(_part(names, self._locale)) or _text(_part(names, "en"))

    def _refuse(self, problem: str) -> NoReturn:
        raise BadGeoData(self._path, problem)


def _part(of: Any, name: str) -> Any:
    return of.get(name) if isinstance(of, dict) else None


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) and value else None
