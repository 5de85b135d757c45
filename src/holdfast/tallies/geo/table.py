"""Which address is where: MaxMind's databases and the CSV files of GeoLite2."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from ipaddress import IPv4Address, IPv6Address
from typing import TYPE_CHECKING

from ..addresses import parsed
from ..place import Place

if TYPE_CHECKING:
    from .atlas import Atlas

PathLike = str | os.PathLike[str]


class GeoTable:
    """A table of places in memory: about 8 bytes for each range of IPv4 addresses, 20 of IPv6.

    It may be read from all threads, and reloaded meanwhile. Needs the extra `geo`.
    """

    def __init__(self, load: Callable[[], Atlas], source: str) -> None:
        self._load = load
        self._source = source
        self._atlas = load()

    def __repr__(self) -> str:
        return f"GeoTable({self._source!r}, {len(self):,} ranges)"

    def __len__(self) -> int:
        atlas = self._atlas
        return len(atlas.four.starts) + len(atlas.six.starts)

    @classmethod
    def from_mmdb(cls, path: PathLike, *, locale: str = "en") -> GeoTable:
        """The table of a MaxMind database, such as `GeoLite2-City.mmdb`.

        Args:
            path: of the file. It is read once, and may be replaced afterwards.
            locale: of the names of regions and cities; English where it has none.

        Raises:
            BadGeoData: it is no such database, or a damaged one.
            OSError: it cannot be read.
        """
        try:
            from . import mmdb
        except ModuleNotFoundError as error:
            raise _extra(error) from None
        file = os.fspath(path)
        return cls(lambda: mmdb.load(file, locale), file)

    @classmethod
    def from_geolite2_csv(
        cls, blocks: PathLike | Iterable[PathLike], locations: PathLike
    ) -> GeoTable:
        """The table of GeoLite2's CSV files.

        Args:
            blocks: one file or several: `GeoLite2-City-Blocks-IPv4.csv`, `…-IPv6.csv`.
            locations: `GeoLite2-City-Locations-en.csv`, or in another language.

        Raises:
            BadGeoData: a file is not what it should be.
            OSError: one cannot be read.
        """
        try:
            from . import geolite2
        except ModuleNotFoundError as error:
            raise _extra(error) from None
        given = [blocks] if isinstance(blocks, str | os.PathLike) else blocks
        files = [os.fspath(path) for path in given]
        if not files:
            raise ValueError("blocks must be one file at least")
        names = os.fspath(locations)
        return cls(lambda: geolite2.load(files, names), files[0])

    def lookup(self, address: str | IPv4Address | IPv6Address) -> Place | None:
        """Where *address* is; None: the table does not say.

        Args:
            address: `173.194.38.137`, `2001:db8::1`; `::ffff:173.194.38.137` is the first of these.

        Raises:
            ValueError: it is no address. No short forms, leading zeros, ports or zones.
        """
        return self._atlas.place(parsed(str(address)))

    def reload(self) -> None:
        """Read the files anew. Whoever counts with the table goes on, from now on with the new one.

        Raises:
            BadGeoData: they are damaged; the table stays as it is.
            OSError: likewise.
        """
        self._atlas = self._load()

    @property
    def built_at(self) -> datetime | None:
        """When the maker of the table made it, as far as the file says."""
        built_at = self._atlas.built_at
        return None if built_at is None else datetime.fromtimestamp(built_at, UTC)

    @property
    def atlas(self) -> Atlas:
        """What it knows at this moment: frozen, so a reload does not change it."""
        return self._atlas


def _extra(error: ModuleNotFoundError) -> ModuleNotFoundError:
    """What to say when a library is missing that nobody else needs."""
    told = "tables of places need an extra: run `pip install 'holdfast[geo]'`"
    return ModuleNotFoundError(told, name=error.name)
