"""Count the lines of a small block one by one; `geo_counter` counts large blocks by column.

Counting by column has a fixed cost, as high as that of some hundred lines here. Both modules return
the same counts, because both use `parse_address` and `iso_day`.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping
from ipaddress import IPv4Address, IPv6Address
from typing import Final

from ..addresses import parse_address
from ..counted import FAR_DAY, MALFORMED, NO_ADDRESS, NO_DAY, SAMPLES, LineCounts
from ..days import DayRange, iso_day
from ..function_counter import lines_of
from .geo_data import GeoData
from .key import DIMENSIONS

SMALL_BLOCK: Final = 32 << 10
"""Bytes up to which a block of lines is counted line by line."""

DayLocation = tuple[str, int]
"""Day and number of a location."""


def count_small_block(
    data: bytes, days: DayRange, geo: GeoData, counts: LineCounts
) -> tuple[int, dict[DayLocation, int]]:
    """Count the lines of *data* by day and location. Add rejected lines to *counts*.

    Returns:
        The number of lines, rejected ones included; and (day, location) → number of lines.
    """
    lines = lines_of(data)
    pairs = [_fields(line) for line in lines]
    ipv4: list[tuple[str, int, int]] = []  # day, number of lines, number of the address
    ipv6: list[tuple[str, int, int]] = []
    for (text, day), number in Counter(pairs).items():
        found = _address(text, day, days)
        if isinstance(found, str):
            rejected_day = day if found == NO_ADDRESS else ""
            counts.reject(rejected_day, found, number)
            if len(counts.samples.get(rejected_day, ())) < SAMPLES:
                counts.sample(rejected_day, lines[pairs.index((text, day))])
        else:
            same_version = ipv4 if isinstance(found, IPv4Address) else ipv6
            same_version.append((day, number, int(found)))
    by_location: dict[DayLocation, int] = {}
    for ranges, found_lines in ((geo.ipv4, ipv4), (geo.ipv6, ipv6)):
        locations = ranges.find_few([address for _, _, address in found_lines])
        for (day, number, _), location in zip(found_lines, locations, strict=True):
            by_location[day, location] = by_location.get((day, location), 0) + number
    return len(lines), by_location


def add_by_name(
    by_location: Mapping[DayLocation, int],
    geo: GeoData,
    dimensions: tuple[str, ...],
    counts: LineCounts,
) -> None:
    """Add the number of lines of each day and location to the *counts* of the location's names."""
    depths = [(dimension, DIMENSIONS.index(dimension)) for dimension in dimensions]
    values: defaultdict[tuple[str, str], dict[str, int]] = defaultdict(dict)
    for (day, location), lines in by_location.items():
        counts.lines[day] = counts.lines.get(day, 0) + lines
        names = geo.names_of(location)
        for dimension, depth in depths:
            column = values[day, dimension]
            column[names[depth]] = column.get(names[depth], 0) + lines
    for (day, dimension), column in values.items():
        # Sort by descending counts, because the server inserts values fastest in this order.
        ordered = sorted(column.items(), key=lambda each: (each[1], each[0]), reverse=True)
        counts.add(day, dimension, dict(ordered))


def _fields(line: bytes) -> tuple[str, str]:
    """Return the first two fields of a line; '' for a missing field."""
    address, _, rest = line.partition(b" ")
    return address.decode(errors="replace"), rest.partition(b" ")[0].decode(errors="replace")


def _address(text: str, day: str, days: DayRange) -> IPv4Address | IPv6Address | str:
    """Return *text* of a line as an IP address, or the reason why the line is rejected."""
    if not text or not day:
        return MALFORMED
    if iso_day(day) is None:
        return NO_DAY
    if not days.first <= day <= days.last:
        return FAR_DAY
    try:
        return parse_address(text)
    except ValueError:
        return NO_ADDRESS
