"""Provide tables that map IP addresses to locations: from a MaxMind database or CSV files."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from ipaddress import IPv4Address, IPv6Address
from typing import TYPE_CHECKING

from ..addresses import parse_address
from .location import GeoLocation

if TYPE_CHECKING:
    from .geo_data import GeoData

PathLike = str | os.PathLike[str]


class GeoTable:
    """Map IP addresses to locations. A range takes about 8 bytes of memory for IPv4, 20 for IPv6.

    Threads may use the table while it is reloaded. It needs the extra `geo`.
    """

    def __init__(self, load: Callable[[], GeoData], source: str) -> None:
        self._load = load
        self._source = source
        self._data = load()

    def __repr__(self) -> str:
        return f"GeoTable({self._source!r}, {len(self):,} ranges)"

    def __len__(self) -> int:
        data = self._data
        return len(data.ipv4.starts) + len(data.ipv6.starts)

    @classmethod
    def from_mmdb(cls, path: PathLike, *, locale: str = "en") -> GeoTable:
        """Load a MaxMind database, such as `GeoLite2-City.mmdb`.

        Args:
            path: path of the file. It is read once, and may be replaced afterwards.
            locale: language of the names of regions and cities. A name that is missing in this
                language is English.

        Raises:
            BadGeoData: the file is not a MaxMind database, or is damaged.
            OSError: the file cannot be read.
        """
        try:
            from . import mmdb
        except ModuleNotFoundError as error:
            raise _missing_extra(error) from None
        file = os.fspath(path)
        return cls(lambda: mmdb.load(file, locale), file)

    @classmethod
    def from_geolite2_csv(
        cls, blocks: PathLike | Iterable[PathLike], locations: PathLike
    ) -> GeoTable:
        """Load the CSV files of GeoLite2.

        Args:
            blocks: one file or several: `GeoLite2-City-Blocks-IPv4.csv`, `…-IPv6.csv`.
            locations: `GeoLite2-City-Locations-en.csv`, or the file for another language.

        Raises:
            BadGeoData: a file has the wrong contents.
            OSError: a file cannot be read.
        """
        try:
            from . import geolite2
        except ModuleNotFoundError as error:
            raise _missing_extra(error) from None
        given = [blocks] if isinstance(blocks, str | os.PathLike) else blocks
        files = [os.fspath(path) for path in given]
        if not files:
            raise ValueError("blocks must be one file at least")
        names = os.fspath(locations)
        return cls(lambda: geolite2.load(files, names), files[0])

    def lookup(self, address: str | IPv4Address | IPv6Address) -> GeoLocation | None:
        """Return the location of *address*; None if the table does not know it.

        Args:
            address: for example `173.194.38.137` or `2001:db8::1`. `::ffff:173.194.38.137` means
                the IPv4 address.

        Raises:
            ValueError: *address* is not an address. Short forms, leading zeros, ports and zones
                are not accepted.
        """
        return self._data.location(parse_address(str(address)))

    def reload(self) -> None:
        """Read the files again. Counters that use the table continue with the new data.

        Raises:
            BadGeoData: a file is damaged; the table keeps its data.
            OSError: a file cannot be read; the table keeps its data.
        """
        self._data = self._load()

    @property
    def built_at(self) -> datetime | None:
        """Return when the provider built the table; None if the file does not contain the time."""
        built_at = self._data.built_at
        return None if built_at is None else datetime.fromtimestamp(built_at, UTC)

    @property
    def data(self) -> GeoData:
        """Return the current data. It never changes: a reload replaces it by new data."""
        return self._data


def _missing_extra(error: ModuleNotFoundError) -> ModuleNotFoundError:
    """Return the error for a missing library of the extra `geo`."""
    text = "geo tables need an extra: install `holdfast[geo]` from where you got Holdfast"
    return ModuleNotFoundError(text, name=error.name)
