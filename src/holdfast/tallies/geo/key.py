"""Provide `GeoKey`, which counts the lines of files by the location of their IP address."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from .table import GeoTable

DIMENSIONS: Final = ("country", "region", "city")


class GeoKey:
    """Count lines `ADDRESS DAY …` by the location of the address: country, region and city.

        173.194.38.137 2011-10-10 13:55:36 achievement-762

    One blank separates the fields; the text after the day is ignored. Values are for example `US`,
    `US/California` and `US/California/Mountain View`. `??` stands for a part that the table does
    not know. An address that is not globally reachable has the value `private`.

    Args:
        geo: the table. After a reload, later lines are counted with the new data.
        dimensions: one or more of `country`, `region` and `city`.
    """

    def __init__(self, geo: GeoTable, *, dimensions: Iterable[str] = DIMENSIONS) -> None:
        self.geo = geo
        self.dimensions: tuple[str, ...] = tuple(dict.fromkeys(dimensions))
        if isinstance(dimensions, str) or not set(self.dimensions) <= set(DIMENSIONS):
            raise ValueError(f"dimensions must be some of {DIMENSIONS}, got {dimensions!r}")

    def __repr__(self) -> str:
        return f"GeoKey({self.geo!r})"
