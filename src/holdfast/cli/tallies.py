"""`holdfast tallies`: list the tallies and their days."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from .resources import Resource, Row, group, list_command, show_command


def _rows(days: Mapping[str, int]) -> Iterator[Row]:
    yield "lines", f"{sum(days.values()):,}"
    for day, lines in days.items():
        yield day, f"{lines:,}"


TALLIES: Final = Resource[Mapping[str, int]](
    noun="tally",
    plural="tallies",
    key="tally",
    names=lambda hf: hf.tallies(),
    read=lambda hf, name: hf.tally(name).days() or None,
    columns={
        "days": lambda days: f"{len(days):,}",
        "lines": lambda days: f"{sum(days.values()):,}",
        "last day": lambda days: list(days)[-1],
    },
    as_json=lambda days: {"lines": sum(days.values()), "days": dict(days)},
    rows=_rows,
    recent="written to last",
)

app: Final = group(
    "tallies",
    "List the tallies; `logs tally` counts lines into them.",
    list_command("List the tallies: how many days and lines they have.", TALLIES),
)
app.command("show", example="holdfast tallies show requests")(
    show_command("Show one tally: how many lines each day has.", TALLIES)
)
