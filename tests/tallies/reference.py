"""A simple program that counts lines one by one, to compare tallies with."""

from collections import Counter, defaultdict
from datetime import date
from functools import cache
from ipaddress import ip_address

from holdfast import GeoTable
from holdfast.tallies.days import DayRange

VALID_DAYS = DayRange("1970-01-01", "2026-12-31")


def is_day(text: str) -> bool:
    """Return whether *text* is a date such as 2011-10-10."""
    if len(text) != 10 or text[4] != "-" or text[7] != "-":
        return False
    digits = text.replace("-", "")
    if not (len(digits) == 8 and digits.isascii() and digits.isdigit()):
        return False
    try:
        date.fromisoformat(text)
    except ValueError:
        return False
    return True


@cache
def names_of(table: GeoTable, text: str) -> tuple[str, str, str] | None:
    """Return country, region and city as values of a tally; None if *text* is not an address.

    The cache assumes that tables are not reloaded.
    """
    try:
        address = ip_address(text)
    except ValueError:
        return None
    if "%" in text:
        return None
    location = table.lookup(text)
    mapped = getattr(address, "ipv4_mapped", None) or address
    if location is None:
        name = "??" if mapped.is_global and not mapped.is_multicast else "private"
        return (name, name, name)
    country, region, city = (part or "??" for part in location)
    return (country, f"{country}/{region}", f"{country}/{region}/{city}")


class Reference:
    """Counts lines one by one."""

    def __init__(self, table: GeoTable) -> None:
        self.table = table
        self.lines: Counter[str] = Counter()
        self.values: defaultdict[tuple[str, str], Counter[str]] = defaultdict(Counter)
        self.rejected: defaultdict[str, Counter[str]] = defaultdict(Counter)

    def add(self, data: bytes) -> int:
        """Count whole lines, and return how many."""
        lines = data.split(b"\n")
        if not lines[-1]:
            lines.pop()
        for line in lines:
            self._count(line.removesuffix(b"\r"))
        return len(lines)

    def _count(self, line: bytes) -> None:
        fields = line.decode(errors="replace").split(" ")
        if len(fields) < 2 or not fields[0] or not fields[1]:
            self.rejected[""]["malformed"] += 1
        elif not is_day(fields[1]):
            self.rejected[""]["no day"] += 1
        elif not VALID_DAYS.first <= fields[1] <= VALID_DAYS.last:
            self.rejected[""]["day out of range"] += 1
        elif (names := names_of(self.table, fields[0])) is None:
            self.rejected[fields[1]]["no address"] += 1
        else:
            self.lines[fields[1]] += 1
            for dimension, value in zip(("country", "region", "city"), names, strict=True):
                self.values[fields[1], dimension][value] += 1
