"""Show counters in each precision and several lengths, as a chart and as CSV."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from .... import AsyncHoldfast, CounterState, Sample
from ....inspect.survey import for_each
from ...problems import Problem
from ..csv_table import CsvTable
from ..page_request import PageRequest
from ..pagination import page_of
from ..screen import DashboardScreen, Page

SIZE: Final = 25
"""Counters on one page. It is low, because the page reads the samples of each counter."""

MAX_READ: Final = 400
"""How many counters to list: those that match the search and were used most recently."""

DEFAULT_S: Final = 60
"""Seconds. By default, a chart shows the precision of the counter that is nearest to this."""

LENGTHS: Final = (30, 60, 120, 240, 500)
"""Numbers of samples among which the reader of a chart can choose."""


async def show_counters(view: PageRequest) -> dict[str, Any]:
    """Return a page of the counters."""
    hf = view.hf
    known = await hf.known_counters(among=MAX_READ, containing=view.text("q"))
    names, where = page_of(view, known, size=SIZE)
    found = await for_each(names, lambda name: _recent(hf, name))
    return {
        **where,
        "among": MAX_READ,
        "counters": [{"name": name, **each} for name, each in found.items() if each is not None],
    }


async def _recent(hf: AsyncHoldfast, name: str) -> dict[str, Any] | None:
    """Return the last 60 samples of a counter, or None if it does not exist."""
    counter = hf.counter(name)
    state = await counter.inspect()
    if state is None:
        return None
    precision = _default_precision(state)
    samples = (await counter.samples(precision))[-60:]
    return {
        "state": state,
        "precision": precision,
        "window": precision * len(samples),
        "total": sum(sample.value for sample in samples),
        "recent": [sample.value for sample in _charted(samples)],
    }


async def show_counter(view: PageRequest) -> dict[str, Any]:
    """Return one counter with its latest samples in one precision."""
    name, length = view.required("name"), view.number("last", 120, most=LENGTHS[-1])
    counter = view.hf.counter(name)
    state = await counter.inspect()
    found: dict[str, Any] = {"name": name, "state": state, "last": length, "lengths": LENGTHS}
    if state is None:
        return {**found, "precision": None, "samples": []}
    precision = view.number("precision", _default_precision(state), most=state.precisions[-1])
    if precision not in state.precisions:
        known = ", ".join(map(str, state.precisions))
        raise Problem("bad-request", f"precision must be one of {known}")
    samples = (await counter.samples(precision))[-length:]
    return {
        **found,
        "precision": precision,
        "samples": [sample._asdict() for sample in samples],
        "window": precision * len(samples),
        **figures(samples, precision),
    }


def figures(samples: Sequence[Sample], precision: int) -> dict[str, Any]:
    """Return the figures of *samples*, from the first that is not 0 on, and those for the chart.

    The last sample is incomplete. Only `total` includes it, unless all earlier ones are 0: then it
    is the only one for the others, and there is no `rate`.
    """
    counted = [sample.value for sample in samples[_first_busy(samples) :]]
    complete = counted[:-1]
    return {
        "charted": _charted(samples),
        "total": sum(counted),
        "rate": sum(complete) / (precision * len(complete)) if complete else None,
        "most": max(complete or counted),
        "least": min(complete or counted),
    }


def _charted(samples: Sequence[Sample]) -> Sequence[Sample]:
    """Return the samples of a chart: it begins with the one before the first that is not 0.

    It leaves out the current sample, unless only this one is not 0.
    """
    shown = samples[:-1] if any(sample.value for sample in samples[:-1]) else samples
    return shown[max(0, _first_busy(shown) - 1) :]


def _first_busy(samples: Sequence[Sample]) -> int:
    """Return the index of the first sample that is not 0; 0 if all are 0."""
    return next((number for number, sample in enumerate(samples) if sample.value), 0)


def _default_precision(state: CounterState) -> int:
    return min(state.precisions, key=lambda precision: abs(precision - DEFAULT_S))


def csv_table(found: dict[str, Any]) -> CsvTable:
    """Return the samples as a table."""
    rows = [(each["start"].isoformat(), each["value"]) for each in found["samples"]]
    return CsvTable(("start", found["name"]), rows)


SCREEN: Final = DashboardScreen(
    "Counters", "Data", (Page("counters", show_counters), Page("counter", show_counter, csv_table))
)
