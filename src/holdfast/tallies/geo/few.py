"""Counts few lines, one by one: the same as `counter` counts of many, column by column.

What columns cost by themselves, however few lines there are, is what some hundred lines cost here.
Both ask `parsed` what is an address, and `checked_day` what is a day.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping
from ipaddress import IPv4Address, IPv6Address
from typing import Final

from ..addresses import parsed
from ..counted import FAR_DAY, MALFORMED, NO_ADDRESS, NO_DAY, SAMPLES, Sums
from ..days import Span, checked_day
from ..line_counter import lines_of
from .atlas import Atlas
from .key import DIMENSIONS

FEW: Final = 32 << 10
"""Bytes of lines that are counted here."""

Spot = tuple[str, int]
"""A day, and the number of a place."""


def spots_of(data: bytes, span: Span, atlas: Atlas, sums: Sums) -> tuple[int, dict[Spot, int]]:
    """Count whole lines: how many there are, and how many of each day and place.

    Those that count for nothing are added to *sums* as rejected.
    """
    lines = lines_of(data)
    pairs = [_pair(line) for line in lines]
    four: list[tuple[str, int, int]] = []  # a day, lines, and the number of an address
    six: list[tuple[str, int, int]] = []
    for (text, day), number in Counter(pairs).items():
        found = _address(text, day, span)
        if isinstance(found, str):
            under = day if found == NO_ADDRESS else ""
            sums.reject(under, found, number)
            if len(sums.samples.get(under, ())) < SAMPLES:
                sums.sample(under, lines[pairs.index((text, day))])
        else:
            its = four if isinstance(found, IPv4Address) else six
            its.append((day, number, int(found)))
    spots: dict[Spot, int] = {}
    for ranges, its in ((atlas.four, four), (atlas.six, six)):
        places = ranges.find_few([address for _, _, address in its])
        for (day, number, _), place in zip(its, places, strict=True):
            spots[day, place] = spots.get((day, place), 0) + number
    return len(lines), spots


def add_named(
    spots: Mapping[Spot, int], atlas: Atlas, dimensions: tuple[str, ...], sums: Sums
) -> None:
    """Add lines of days and places to *sums*, by what the places are called."""
    depths = [(dimension, DIMENSIONS.index(dimension)) for dimension in dimensions]
    values: defaultdict[tuple[str, str], dict[str, int]] = defaultdict(dict)
    for (day, place), lines in spots.items():
        sums.lines[day] = sums.lines.get(day, 0) + lines
        names = atlas.called(place)
        for dimension, depth in depths:
            those = values[day, dimension]
            those[names[depth]] = those.get(names[depth], 0) + lines
    for (day, dimension), those in values.items():
        # The highest first, as the server finds their places fastest.
        ordered = sorted(those.items(), key=lambda each: (each[1], each[0]), reverse=True)
        sums.add(day, dimension, dict(ordered))


def _pair(line: bytes) -> tuple[str, str]:
    """The first two fields of a line; empty where there is none."""
    address, _, rest = line.partition(b" ")
    return address.decode(errors="replace"), rest.partition(b" ")[0].decode(errors="replace")


def _address(text: str, day: str, span: Span) -> IPv4Address | IPv6Address | str:
    """The address of a line, or why the line counts for nothing."""
    if not text or not day:
        return MALFORMED
    if checked_day(day) is None:
        return NO_DAY
    if not span.first <= day <= span.last:
        return FAR_DAY
    try:
        return parsed(text)
    except ValueError:
        return NO_ADDRESS
