"""`holdfast counters ls` and `show`: which there are, and one of them over time."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer
from rich.table import Table
from rich.text import Text

from ..codes import NOT_FOUND, WRONG_USAGE
from ..connection import Embedded, Namespace, Url, connected, fail
from ..found import like
from ..instants import utc
from ..listing import LISTED
from ..output import AsJson, columns, counted, fields, say, show, show_json, stranger, warn
from .chart import chart, gathered
from .spans import span, told

if TYPE_CHECKING:
    from ... import Counter, CounterState, Sample

WINDOWS: Final = {"last_minute": 60, "last_hour": 3600, "last_day": 86_400}

HOUR_S: Final = 3600
TREND: Final = 12
"""Characters that tell the last hour in a list."""

ROWS: Final = 8
NARROWEST: Final = 20
"""Columns; a terminal that has fewer folds the lines."""

PIPE: Final = 80
"""Columns where there is no terminal."""

Name = Annotated[str, typer.Argument(metavar="NAME", help="The counter.")]
Precision = Annotated[
    int | None,
    typer.Option(
        "--precision",
        metavar="SECONDS",
        min=1,
        help="Of one sample, one of the counter's; by default the finest that has so much.",
    ),
]
Last = Annotated[
    str | None,
    typer.Option(
        "--last",
        metavar="TIME",
        help="How far back, as in 90s, 1h, 7d; by default 1h, with --precision all that is kept.",
    ),
]


def ls(
    url: Url = None,
    embedded: Embedded = None,
    namespace: Namespace = "holdfast",
    as_json: AsJson = False,
) -> None:
    """List the counters: what they counted in the last minute, hour and day.

    A dash: it keeps no samples for so long. The bars are the last hour.
    """
    with connected(url, embedded, namespace, create=False) as hf:
        names = hf.known_counters()
        found = [row for name in names if (row := _standing(name, hf.counter(name)))]
    if as_json:
        for row in found:
            show_json({"counter": row.name}, row.totals)
    elif found:
        show(_table(found))
    else:
        say(f"no counters in namespace {namespace}")
    if len(names) == LISTED:
        warn(f"these are the {LISTED:,} counters that were added to last; there may be more")


def show_one(
    name: Name,
    url: Url = None,
    embedded: Embedded = None,
    namespace: Namespace = "holdfast",
    precision: Precision = None,
    last: Last = None,
    as_json: AsJson = False,
) -> None:
    """Draw one counter over time.

    Each bar is a sample, or the sum of some neighbours where the terminal has
    fewer columns. The last sample has just begun. Times are in UTC.
    """
    wanted_s = span(last)
    with connected(url, embedded, namespace, create=False) as hf:
        counter = hf.counter(name)
        state = counter.inspect()
        if state is None:
            hint = like(name, hf.known_counters())
            fail(
                f"there is no counter {name!r} in namespace {hf.namespace!r}{hint}", code=NOT_FOUND
            )
        precision, count = _chosen(name, state, precision, wanted_s)
        samples = counter.samples(precision)[-count:]
    if as_json:
        told_samples = {"samples": [{"start": s.start, "value": s.value} for s in samples]}
        show_json(
            {"counter": name, "precision": precision}, _sums(samples, precision), told_samples
        )
    else:
        show(fields(_rows(name, precision, samples)))
        _draw(samples, precision)


@dataclass(frozen=True, slots=True)
class _Standing:
    """One counter in a list.

    Attributes:
        totals: by window; None: it keeps nothing for so long.
        trend: the last hour as a line of bars.
    """

    name: str
    totals: dict[str, int | None]
    trend: str


def _standing(name: str, counter: Counter) -> _Standing | None:
    """How it stands; None: it has vanished meanwhile."""
    state = counter.inspect()
    if state is None:
        return None
    totals = {
        window: counter.total(seconds) if _finest(state, seconds) else None
        for window, seconds in WINDOWS.items()
    }
    precision = _finest(state, HOUR_S)
    samples = counter.samples(precision)[-math.ceil(HOUR_S / precision) :] if precision else []
    return _Standing(name, totals, gathered(samples, TREND)[0].sparkline())


def _finest(state: CounterState, span_s: float) -> int | None:
    """The finest precision of which there are samples for so long."""
    fitting = (p for p in state.precisions if math.ceil(span_s / p) <= state.keep)
    return next(fitting, None)


def _chosen(
    name: str, state: CounterState, precision: int | None, span_s: float | None
) -> tuple[int, int]:
    """Which samples are shown, and how many; ends the command if there are none such."""
    if precision is None:
        found = _finest(state, span_s or HOUR_S)
        if found is None and span_s is not None:
            longest = told(state.precisions[-1] * state.keep)
            fail(f"counter {name!r} keeps {longest}, not {told(span_s)}", code=WRONG_USAGE)
        precision = found or state.precisions[-1]
        span_s = span_s or HOUR_S
    elif precision not in state.precisions:
        known = ", ".join(map(str, state.precisions))
        fail(
            f"counter {name!r} has no precision of {precision} s; it has {known}",
            code=WRONG_USAGE,
        )
    wanted = state.keep if span_s is None else math.ceil(span_s / precision)
    return precision, min(wanted, state.keep)


def _sums(samples: Sequence[Sample], precision: int) -> dict[str, Any]:
    total = sum(sample.value for sample in samples)
    return {"total": total, "rate": total / (len(samples) * precision)}


def _rows(name: str, precision: int, samples: Sequence[Sample]) -> Iterator[tuple[str, str]]:
    sums, highest = _sums(samples, precision), max(samples, key=lambda sample: sample.value)
    yield "counter", name
    yield "shown", f"the last {told(len(samples) * precision)}, in samples of {told(precision)}"
    yield "total", f"{sums['total']:,}"
    rate = sums["rate"]
    yield "rate", f"{rate:,.3g} per second" if abs(rate) < 100 else f"{rate:,.0f} per second"
    yield "highest", f"{highest.value:,} at {utc(highest.start)}"


def _draw(samples: Sequence[Sample], precision: int) -> None:
    lines, together = chart(samples, precision, columns=max(NARROWEST, columns(PIPE)), rows=ROWS)
    if together > 1:
        lines.append(f"each bar: {counted(together, 'sample')}, {told(together * precision)}")
    show(Text())
    show(Text("\n".join(lines), "cyan", no_wrap=True))


def _table(found: Sequence[_Standing]) -> Table:
    table = Table(box=None, header_style="bold", pad_edge=False)
    table.add_column("counter", overflow="fold")
    for window in WINDOWS:
        table.add_column(window.replace("_", " "), justify="right", no_wrap=True)
    table.add_column("", no_wrap=True, style="cyan")
    for each in found:
        totals = ("-" if total is None else f"{total:,}" for total in each.totals.values())
        table.add_row(stranger(each.name), *totals, each.trend)
    return table
