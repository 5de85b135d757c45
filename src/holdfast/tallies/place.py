"""Where an address is."""

from __future__ import annotations

from typing import Final, NamedTuple

UNKNOWN: Final = "??"
"""Stands for what a table does not say."""

PRIVATE: Final = "private"
"""Stands for the place of an address that nobody can be reached at from outside."""


class Place(NamedTuple):
    """Where an address is, as far as a table says.

    Attributes:
        country: two letters, ISO 3166-1.
        region: the first subdivision of the country, by its name.
        city: by its name.
    """

    country: str | None
    region: str | None
    city: str | None
