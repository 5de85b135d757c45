"""`holdfast counters`: list the counters, and draw one over time."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer
from rich.text import Text

from ..inspect.formats import counted, exact_duration, utc
from .bar_chart import bar_chart, summed
from .connection import fail, with_client
from .exit_codes import WRONG_USAGE
from .options import argument, option
from .output import AsJson, field_table, line_width, print_block, print_json
from .resources import Resource, group, list_command

if TYPE_CHECKING:
    from .. import CounterState, Holdfast, Sample

WINDOWS: Final = {"last_minute": 60, "last_hour": 3600, "last_day": 86_400}

HOUR_S: Final = 3600
TREND: Final = 12
"""Characters in the bar chart of the last hour in a list."""

ROWS: Final = 8
NARROWEST: Final = 20
"""Columns of a chart at least. A narrower terminal folds the lines."""

PIPE_COLUMNS: Final = 80

UNITS: Final = {"s": 1, "min": 60, "m": 60, "h": 3600, "d": 86_400, "w": 604_800}

_DURATION_PARTS: Final = re.compile(r"(\d+(?:\.\d+)?)(min|[smhdw]?)")

Name = Annotated[str, argument("NAME", "The counter.")]
Precision = Annotated[
    int | None,
    option(
        "SECONDS",
        "Seconds per sample, a precision of the counter; by default the finest that keeps so much.",
        min=1,
    ),
]
Last = Annotated[
    str | None,
    option(
        "TIME", "Time to show, such as 90s, 1h or 7d; by default 1h, with --precision all samples."
    ),
]


@dataclass(frozen=True, slots=True)
class CounterTotals:
    """Holds the totals of a counter for a list.

    Attributes:
        totals: name of a time window → total; None: the counter keeps no samples for so long.
        trend: a bar chart of the last hour in one line.
    """

    totals: dict[str, int | None]
    trend: str


def _totals(hf: Holdfast, name: str) -> CounterTotals | None:
    counter = hf.counter(name)
    state = counter.inspect()
    if state is None:
        return None
    totals = {
        window: counter.total(seconds) if _finest(state, seconds) else None
        for window, seconds in WINDOWS.items()
    }
    precision = _finest(state, HOUR_S)
    samples = counter.samples(precision)[-math.ceil(HOUR_S / precision) :] if precision else []
    return CounterTotals(totals, summed(samples, TREND)[0].sparkline())


def _cell(window: str) -> Any:
    def cell(counter: CounterTotals) -> str:
        total = counter.totals[window]
        return "-" if total is None else f"{total:,}"

    return cell


COUNTERS: Final = Resource[CounterTotals](
    noun="counter",
    key="counter",
    names=lambda hf: hf.known_counters(),
    read=_totals,
    columns={
        **{window.replace("_", " "): _cell(window) for window in WINDOWS},
        "": lambda counter: Text(counter.trend, "cyan"),
    },
    left=("",),
    as_json=lambda counter: dict(counter.totals),
    recent="added to last",
)

app: Final = group(
    "counters",
    "List and draw counters.",
    list_command(
        """List the counters: what they counted in the last minute, hour and day.

        A dash means that the counter keeps no samples for so long. The bars show the
        last hour.
        """,
        COUNTERS,
    ),
)


@app.command("show", example="holdfast counters show hits --last 1h")
@with_client()
def show_counter(
    hf: Holdfast,
    name: Name,
    precision: Precision = None,
    last: Last = None,
    as_json: AsJson = False,
) -> None:
    """Draw one counter over time.

    Each bar is a sample, or the sum of several if the terminal has fewer columns. The
    last sample is not complete yet. Times are in UTC.
    """
    wanted_s = parse_duration(last)
    counter = hf.counter(name)
    state = counter.inspect()
    if state is None:
        COUNTERS.not_found(hf, name)
    precision, count = _choose(name, state, precision, wanted_s)
    samples = counter.samples(precision)[-count:]
    if as_json:
        fields = {"samples": [{"start": s.start, "value": s.value} for s in samples]}
        print_json({"counter": name, "precision": precision}, _sums(samples, precision), fields)
    else:
        print_block(field_table(_rows(name, precision, samples)))
        _draw(samples, precision)


def parse_duration(text: str | None) -> float | None:
    """Parse a duration such as `90`, `90s`, `1h`, `1h30m` or `7d`, and return its seconds.

    Return None for None. End the command if *text* has another form.
    """
    if text is None:
        return None
    compact = text.replace(" ", "")
    parts = _DURATION_PARTS.findall(compact)
    seconds = sum(float(number) * UNITS[unit or "s"] for number, unit in parts)
    if "".join(map("".join, parts)) != compact or not 0 < seconds < 1e9:
        raise typer.BadParameter(f"{text!r} is no length of time; expected such as 90s, 1h or 7d")
    return seconds


def _finest(state: CounterState, seconds: float) -> int | None:
    """Return the finest precision with samples for *seconds*, or None if there is none."""
    fitting = (p for p in state.precisions if math.ceil(seconds / p) <= state.keep)
    return next(fitting, None)


def _choose(
    name: str, state: CounterState, precision: int | None, seconds: float | None
) -> tuple[int, int]:
    """Return the precision and the number of samples to show. End the command if impossible."""
    if precision is None:
        found = _finest(state, seconds or HOUR_S)
        if found is None and seconds is not None:
            longest = exact_duration(state.precisions[-1] * state.keep)
            problem = f"counter {name!r} keeps {longest}, not {exact_duration(seconds)}"
            fail(problem, code=WRONG_USAGE)
        precision = found or state.precisions[-1]
        seconds = seconds or HOUR_S
    elif precision not in state.precisions:
        known = ", ".join(map(str, state.precisions))
        problem = f"counter {name!r} has no precision of {precision} s; it has {known}"
        fail(problem, code=WRONG_USAGE)
    wanted = state.keep if seconds is None else math.ceil(seconds / precision)
    return precision, min(wanted, state.keep)


def _sums(samples: Sequence[Sample], precision: int) -> dict[str, Any]:
    total = sum(sample.value for sample in samples)
    return {"total": total, "rate": total / (len(samples) * precision)}


def _rows(name: str, precision: int, samples: Sequence[Sample]) -> Iterator[tuple[str, str]]:
    sums, highest = _sums(samples, precision), max(samples, key=lambda sample: sample.value)
    window = exact_duration(len(samples) * precision)
    yield "counter", name
    yield "shown", f"the last {window}, in samples of {exact_duration(precision)}"
    yield "total", f"{sums['total']:,}"
    rate = sums["rate"]
    yield "rate", f"{rate:,.3g} per second" if abs(rate) < 100 else f"{rate:,.0f} per second"
    yield "highest", f"{highest.value:,} at {utc(highest.start)}"


def _draw(samples: Sequence[Sample], precision: int) -> None:
    width = max(NARROWEST, line_width(PIPE_COLUMNS))
    lines, together = bar_chart(samples, precision, columns=width, rows=ROWS)
    if together > 1:
        each = f"{counted(together, 'sample')}, {exact_duration(together * precision)}"
        lines.append(f"each bar: {each}")
    print_block(Text())
    print_block(Text("\n".join(lines), "cyan", no_wrap=True))
