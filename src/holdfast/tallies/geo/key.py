"""Lines by where their address is: what `Tally.aggregate` is told."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from .table import GeoTable

DIMENSIONS: Final = ("country", "region", "city")


class GeoKey:
    """Counts lines `ADDRESS DAY …` by the place of the address: country, region and city.

        173.194.38.137 2011-10-10 13:55:36 achievement-762

    The fields are separated by one blank each; what follows the day is not looked at. Values are
    `US`, `US/California` and `US/California/Mountain View`, with `??` for what the table does not
    say, and `private` for an address that cannot be reached from outside.

    Args:
        geo: the table. When it is reloaded, later lines are counted by the new one.
        dimensions: some of `country`, `region` and `city`.
    """

    def __init__(self, geo: GeoTable, *, dimensions: Iterable[str] = DIMENSIONS) -> None:
        self.geo = geo
        self.dimensions = tuple(dict.fromkeys(dimensions))
        if isinstance(dimensions, str) or not set(self.dimensions) <= set(DIMENSIONS):
            raise ValueError(f"dimensions must be some of {DIMENSIONS}, got {dimensions!r}")

    def __repr__(self) -> str:
        return f"GeoKey({self.geo!r})"
