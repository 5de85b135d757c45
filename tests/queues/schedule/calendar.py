"""A second implementation of cron expressions: it looks at every minute, or at every date."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

MINUTE = timedelta(minutes=1)


def field(text: str, low: int, high: int) -> set[int]:
    """Return the values that a field of an expression allows: `*`, `*/n`, `a-b`, `a,b`."""
    allowed: set[int] = set()
    for term in text.split(","):
        span, _, step = term.partition("/")
        first, _, last = span.partition("-")
        begin, end = (low, high) if span == "*" else (int(first), int(last or first))
        allowed |= set(range(begin, end + 1, int(step or 1)))
    return allowed


def instants(expression: str, zone: str, begin: datetime, end: datetime) -> Iterator[datetime]:
    """Yield the instants between two instants, in UTC, by the rules of the table in the docs."""
    minute, hour, day, month, weekday = expression.split()
    days = field(day, 1, 31), field(month, 1, 12), {each % 7 for each in field(weekday, 0, 7)}
    any_day = day.startswith("*") or weekday.startswith("*")
    times = field(minute, 0, 59), field(hour, 0, 23)

    def is_on(local: datetime) -> bool:
        by_day = local.day in days[0]
        by_weekday = local.isoweekday() % 7 in days[2]
        matches = by_day and by_weekday if any_day else by_day or by_weekday
        return matches and local.month in days[1]

    if minute.startswith("*") or hour.startswith("*"):
        yield from _elapsed(begin, end, zone, times, is_on)
    else:
        yield from _by_date(begin, end, zone, times, is_on)


def _elapsed(begin, end, zone, times, is_on) -> Iterator[datetime]:  # type: ignore[no-untyped-def]
    """Jobs by the minute or hour: each minute that passes is compared with the local clock."""
    at = begin.replace(second=0, microsecond=0) + MINUTE
    while at <= end:
        local = at.astimezone(ZoneInfo(zone))
        if local.minute in times[0] and local.hour in times[1] and is_on(local):
            yield at
        at += MINUTE


def _by_date(begin, end, zone, times, is_on) -> Iterator[datetime]:  # type: ignore[no-untyped-def]
    """Jobs at given times: once on each date. A time that does not exist is that after the gap."""
    date = begin.astimezone(ZoneInfo(zone)).replace(tzinfo=None, hour=0, minute=0, second=0)
    date = date.replace(microsecond=0) - timedelta(days=1)
    found: set[datetime] = set()
    while date.replace(tzinfo=UTC) <= end + timedelta(days=2):
        if is_on(date):
            for hour in times[1]:
                for minute in times[0]:
                    local = date.replace(hour=hour, minute=minute, tzinfo=ZoneInfo(zone))
                    while local.astimezone(UTC).astimezone(local.tzinfo) != local:  # in the gap
                        local = (local.replace(tzinfo=None) + MINUTE).replace(tzinfo=local.tzinfo)
                    found.add(local.astimezone(UTC))
        date += timedelta(days=1)
    yield from sorted(each for each in found if begin < each <= end)
