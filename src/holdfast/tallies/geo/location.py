"""Define the location of an address."""

from __future__ import annotations

from typing import NamedTuple


class GeoLocation(NamedTuple):
    """Hold the location of an address. A part that the table does not know is None.

    Attributes:
        country: country code of two letters (ISO 3166-1).
        region: name of the first subdivision of the country.
        city: name of the city.
    """

    country: str | None
    region: str | None
    city: str | None
