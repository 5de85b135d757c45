"""Counters: how often something happened, in any precision and range, as a chart and as CSV."""

from __future__ import annotations

from typing import Any, Final

from .... import AsyncHoldfast, CounterState
from ...problems import Problem
from ..gathering import for_each
from ..listing import page_of
from ..look import Look
from ..screen import Page, Screen
from ..sheet import Sheet

SIZE: Final = 25
"""Counters on a page: each costs a chunk of its samples."""

AMONG: Final = 400
"""Names that are looked at, those that were added to last; of a search, those it finds."""

USUAL_S: Final = 60
"""The precision that is shown at first, or the one next to it."""

LENGTHS: Final = (30, 60, 120, 240, 500)
"""Samples that a chart may show."""


async def show_counters(look: Look) -> dict[str, Any]:
    """A page of the counters, by name."""
    hf = look.hf
    known = await hf.known_counters(among=AMONG, containing=look.text("q"))
    names, where = page_of(look, known, size=SIZE)
    found = await for_each(names, lambda name: _recent(hf, name))
    return {
        **where,
        "among": AMONG,
        "counters": [{"name": name, **each} for name, each in found.items() if each is not None],
    }


async def _recent(hf: AsyncHoldfast, name: str) -> dict[str, Any] | None:
    """The last hour of a counter, or as near to that as it keeps."""
    counter = hf.counter(name)
    state = await counter.inspect()
    if state is None:
        return None
    precision = _usual(state)
    samples = (await counter.samples(precision))[-60:]
    return {
        "state": state,
        "precision": precision,
        "window": precision * len(samples),
        "total": sum(sample.value for sample in samples),
        "recent": [sample.value for sample in samples],
    }


async def show_counter(look: Look) -> dict[str, Any]:
    """One counter: the latest samples of one precision."""
    name, length = look.needed("name"), look.whole("last", 120, most=LENGTHS[-1])
    counter = look.hf.counter(name)
    state = await counter.inspect()
    found: dict[str, Any] = {"name": name, "state": state, "last": length, "lengths": LENGTHS}
    if state is None:
        return {**found, "precision": None, "samples": []}
    precision = look.whole("precision", _usual(state), most=state.precisions[-1])
    if precision not in state.precisions:
        known = ", ".join(map(str, state.precisions))
        raise Problem("bad-request", f"precision is one of {known}")
    samples = (await counter.samples(precision))[-length:]
    over = [sample.value for sample in samples[:-1] or samples]
    total, window = sum(sample.value for sample in samples), precision * len(samples)
    return {
        **found,
        "precision": precision,
        "samples": [sample._asdict() for sample in samples],
        "window": window,
        "total": total,
        "rate": total / window,
        "most": max(over),
        "least": min(over),
    }


def _usual(state: CounterState) -> int:
    return min(state.precisions, key=lambda precision: abs(precision - USUAL_S))


def sheet(found: dict[str, Any]) -> Sheet:
    """The samples that are shown."""
    rows = [(each["start"].isoformat(), each["value"]) for each in found["samples"]]
    return Sheet(("start", found["name"]), rows)


SCREEN: Final = Screen(
    "Counters", "Data", (Page("counters", show_counters), Page("counter", show_counter, sheet))
)
