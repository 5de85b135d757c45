"""Numbers, times and values as people read them: the filters of the templates."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any, Final

import msgspec

from ..wire import instant
from .exact import encoded, survives
from .names import in_text, pieces

LONGEST_VALUE: Final = 20_000

_SPANS: Final = ((86_400.0, "d"), (3600.0, "h"), (60.0, "min"), (1.0, "s"))
_SIZES: Final = ("B", "kB", "MB", "GB", "TB", "PB")


def number(value: float | None) -> str:
    """With separators: `1,234`; a dash for None."""
    if value is None:
        return "—"
    return f"{value:,}" if isinstance(value, int) else f"{value:,.1f}"


def counted(count: int, noun: str) -> str:
    """`1 task`, `2,000 tasks`."""
    return f"{number(count)} {noun}{'' if count == 1 else 's'}"


def span(seconds: float | None) -> str:
    """`3.2 s`, `14 min`, `2.5 d`; a dash for None."""
    if seconds is None:
        return "—"
    if seconds < 1:
        return f"{max(0.0, seconds) * 1000:.0f} ms"
    size, unit = next(each for each in _SPANS if seconds >= each[0])
    count = seconds / size
    return f"{count:.0f} {unit}" if count >= 10 else f"{count:.1f}".removesuffix(".0") + f" {unit}"


def size(count: float | None) -> str:
    """`3.2 MB`; a dash for None."""
    if count is None:
        return "—"
    left, unit = float(count), 0
    while left >= 1000 and unit < len(_SIZES) - 1:
        left, unit = left / 1000, unit + 1
    return f"{left:.1f}".removesuffix(".0") + f" {_SIZES[unit]}"


def percent(share: float | None) -> str:
    """`93.1 %`; a dash for None."""
    return "—" if share is None else f"{share * 100:.1f}".removesuffix(".0") + " %"


def since(at: datetime | None, now: datetime) -> str:
    """`14 min ago`, `in 3 s`; a dash for None."""
    if at is None:
        return "—"
    seconds = (now - at).total_seconds()
    return f"in {span(-seconds)}" if seconds < -0.5 else f"{span(max(0.0, seconds))} ago"


def iso(at: datetime | None) -> str:
    """ISO 8601 in UTC, or nothing."""
    return instant(at) or ""


def epoch(at: datetime) -> int:
    """Seconds since 1970."""
    return int(at.timestamp())


def clock(at: datetime) -> str:
    """The time of day in UTC, to the second; a page with scripts shows the reader's own."""
    return f"{at.astimezone(UTC):%H:%M:%S} UTC"


def value(given: Any) -> str:
    """A value as JSON on one line, cut where it gets too long."""
    text = plain_json(given).decode(errors="replace")
    return text if len(text) <= LONGEST_VALUE else f"{text[:LONGEST_VALUE]}… (cut)"


def pretty(given: Any) -> str:
    """A value as JSON in lines."""
    text = msgspec.json.format(plain_json(given)).decode(errors="replace")
    return text if len(text) <= LONGEST_VALUE else f"{text[:LONGEST_VALUE]}… (cut)"


def points(values: Sequence[float], width: int = 120, height: int = 24) -> str:
    """Where a line through *values* goes, for the `points` of an SVG polyline."""
    low, step = min(0.0, *values), width / max(1, len(values) - 1)
    scale = (height - 2) / (max(1.0, *values) - low)
    places = ((n * step, height - 1 - (value - low) * scale) for n, value in enumerate(values))
    return " ".join(f"{x:.1f},{y:.1f}" for x, y in places)


def plain_json(given: Any) -> bytes:
    """As JSON; what JSON has not, as its repr."""
    return msgspec.json.encode(given, enc_hook=repr)


def literal(name: str) -> str:
    """Return *name* as a string of Python, for code to copy."""
    written = repr(name)
    return written if '"' in written or "'" in name else f'"{written[1:-1]}"'


FILTERS: Final = {
    "counted": counted,
    "number": number,
    "span": span,
    "size": size,
    "percent": percent,
    "since": since,
    "iso": iso,
    "clock": clock,
    "epoch": epoch,
    "value": value,
    "pretty": pretty,
    "points": points,
    "pieces": pieces,
    "in_text": in_text,
    "encoded": encoded,
    "survives": survives,
    "literal": literal,
}
