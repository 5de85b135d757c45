"""Define the filters of the templates, which format numbers, times and values as text."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import Any, Final, TypeVar

import msgspec

from ... import Throughput
from ...inspect import formats
from ...inspect.throughput import since_first
from .displayed_names import in_text, pieces, prose_pieces, visible_json, words
from .form_encoding import encoded, survives

MAX_VALUE_LENGTH: Final = 20_000
"""Characters after which a value is cut."""

V = TypeVar("V")


def or_dash(format_: Callable[[V], str]) -> Callable[[V | None], str]:
    """Return a filter that formats a value with *format_*, and None as a dash."""

    def formatted(value: V | None) -> str:
        return "—" if value is None else format_(value)

    return formatted


def distance(at: datetime | None, now: datetime) -> str:
    """Return *at* relative to *now*, such as `14 min ago` or `in 3 s`; a dash for None."""
    return "—" if at is None else formats.distance(at, now)


def iso(at: datetime | None) -> str:
    """Return *at* as ISO 8601 in UTC, or an empty text for None."""
    return "" if at is None else formats.iso(at)


def epoch(at: datetime) -> int:
    """Return *at* in seconds since 1970."""
    return int(at.timestamp())


def clock(at: datetime) -> str:
    """Return the time of day in UTC. A script in the page replaces it by the local time."""
    return f"{at.astimezone(UTC):%H:%M:%S} UTC"


def value(given: Any) -> str:
    """Return *given* as JSON on one line, cut after `MAX_VALUE_LENGTH` characters."""
    return _cut(plain_json(given))


def pretty(given: Any) -> str:
    """Return *given* as indented JSON, cut after `MAX_VALUE_LENGTH` characters."""
    return _cut(msgspec.json.format(plain_json(given)))


def points(values: Sequence[float], width: int = 120, height: int = 24) -> str:
    """Return the attribute `points` of an SVG polyline through *values*, which may be none."""
    if not values:
        return ""
    low, step = min(0.0, *values), width / max(1, len(values) - 1)
    scale = (height - 2) / (max(1.0, *values) - low)
    places = ((n * step, height - 1 - (value - low) * scale) for n, value in enumerate(values))
    return " ".join(f"{x:.1f},{y:.1f}" for x, y in places)


def plain_json(given: Any) -> bytes:
    """Return *given* as JSON. Objects without a JSON form become the text of their `repr`."""
    return msgspec.json.encode(given, enc_hook=repr)


def literal(name: str) -> str:
    """Return *name* as a Python string literal, for an example that the reader can copy."""
    written = repr(name)
    return written if '"' in written or "'" in name else f'"{written[1:-1]}"'


def _cut(data: bytes) -> str:
    text = data.decode(errors="replace")
    cut = text if len(text) <= MAX_VALUE_LENGTH else f"{text[:MAX_VALUE_LENGTH]}… (cut)"
    return visible_json(cut)


def charted(minutes: Sequence[Throughput]) -> Sequence[Throughput]:
    """Return the minutes of a chart: it begins with the one before the first in which a task ended.

    It leaves out the last minute, which is not over, unless tasks have ended only in this one.
    Return nothing if no task ended at all.
    """
    return _begun(minutes[:-1]) or _begun(minutes)


def _begun(minutes: Sequence[Throughput]) -> Sequence[Throughput]:
    busy = len(since_first(minutes))
    return minutes[-busy - 1 :] if busy else ()


FILTERS: Final = {
    "charted": charted,
    "counted": formats.counted,
    "number": or_dash(formats.number),
    "duration": or_dash(formats.duration),
    "setting": or_dash(formats.exact_duration),
    "size": or_dash(formats.size),
    "percent": or_dash(formats.percent),
    "distance": distance,
    "iso": iso,
    "clock": clock,
    "epoch": epoch,
    "value": value,
    "pretty": pretty,
    "points": points,
    "pieces": pieces,
    "prose_pieces": prose_pieces,
    "words": words,
    "in_text": in_text,
    "encoded": encoded,
    "survives": survives,
    "literal": literal,
}
