"""Small tables of locations, written by an independent library."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from mmdb_writer import MMDBWriter
from netaddr import IPSet

from holdfast import GeoTable

LOCATION_OF = {
    "1.0.0.0/24": ("AU", "Queensland", "Brisbane"),
    "1.0.4.0/22": ("AU", "Victoria", None),
    "8.8.8.0/24": ("US", None, None),
    "173.194.0.0/16": ("US", "California", "Mountain View"),
    "217.0.0.0/13": ("DE", "Land Berlin", "Berlin"),
    "2001:4860::/32": ("US", "California", "Mountain View"),
    "2a02:8100::/27": ("DE", "Hesse", "Kassel"),
}
"""Country, region and city of each network."""


def record(location: tuple[str | None, str | None, str | None]) -> dict[str, Any]:
    """Return a record as MaxMind writes it."""
    country, region, city = location
    found: dict[str, Any] = {"continent": {"code": "XX"}}
    if country:
        found["country"] = {"iso_code": country, "names": {"en": f"Land of {country}"}}
    if region:
        found["subdivisions"] = [{"iso_code": region[:2], "names": {"en": region}}]
    if city:
        found["city"] = {"names": {"en": city, "de": f"{city} (de)"}}
    return found


def write_mmdb(
    path: Path, records: Mapping[str, Any] | None = None, *, version: int = 6, **options: Any
) -> Path:
    """Write a database of *records*, by network; by default of `LOCATION_OF`."""
    if records is None:
        records = {network: record(location) for network, location in LOCATION_OF.items()}
    writer = MMDBWriter(
        version, "GeoLite2-City", languages=["en"], ipv4_compatible=version == 6, **options
    )
    for network, each in records.items():
        writer.insert_network(IPSet([network]), each)
    writer.to_db_file(str(path))
    return path


def small_table(folder: Path) -> GeoTable:
    """Return the table of `LOCATION_OF`."""
    return GeoTable.from_mmdb(write_mmdb(folder / "places.mmdb"))


BLOCKS = "network,geoname_id,registered_country_geoname_id,is_anonymous_proxy,postal_code"
LOCATIONS = "geoname_id,locale_code,country_iso_code,country_name,subdivision_1_name,city_name"


def write_csv(folder: Path) -> tuple[list[Path], Path]:
    """Write the same locations as CSV files of GeoLite2."""
    blocks = [folder / "Blocks-IPv4.csv", folder / "Blocks-IPv6.csv"]
    lines = {path: [BLOCKS] for path in blocks}
    names = [LOCATIONS]
    for number, (network, (country, region, city)) in enumerate(LOCATION_OF.items(), 1):
        lines[blocks[":" in network]].append(f"{network},{number},77,0,")
        names.append(f'{number},en,{country},"Land, of {country}",{region or ""},{city or ""}')
    for path, rows in lines.items():
        path.write_text("\n".join(rows) + "\n")
    locations = folder / "Locations-en.csv"
    locations.write_text("\n".join(names) + "\n")
    return blocks, locations
