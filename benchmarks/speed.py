"""What was measured, kept for readers: docs/speed.md with every table, README.md with a short one.

Results are kept by benchmark and title in `results.json`, so that a run of some benchmarks renews
these and leaves the others as they were, each with its day and its machine.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from .goals import summary
from .report import Table, number, repeated

ROOT: Final = Path(__file__).resolve().parents[1]
KEPT: Final = ROOT / "benchmarks" / "results.json"
PAGE: Final = ROOT / "docs" / "speed.md"
README: Final = ROOT / "README.md"
SECTION: Final = re.compile(
    r"(<!-- speed: written by `make bench` -->\n).*?(<!-- end -->)", re.DOTALL
)

RATIO: Final = "ours ÷ this"

Plain = dict[str, Any]
Results = dict[str, dict[str, Plain]]


@dataclass(frozen=True, slots=True)
class Line:
    """A line of the short table.

    Attributes:
        what: was done, in the words of the README.
        benchmark: that measured it.
        title: of its table.
        ours: the case, by the beginning of its name.
        theirs: the case of the rival, by the beginning of its name.
    """

    what: str
    benchmark: str
    title: str
    ours: str
    theirs: str


LINES: Final = (
    Line(
        "server calls, 50 coroutines",
        "calls",
        "calls, asyncio, coroutines: 50",
        "holdfast",
        "redis-py",
    ),
    Line(
        "tasks run by one worker, async no-ops",
        "queue",
        "one worker, no-op tasks, coroutines",
        "holdfast",
        "SAQ, 100",
    ),
    Line(
        "tasks enqueued, one at a time",
        "queue",
        "enqueue, one after the other",
        "holdfast",
        "Huey",
    ),
    Line(
        "a lock acquired and released, one thread",
        "leases",
        "an uncontended lock acquired and released, one thread",
        "holdfast",
        "redis-py",
    ),
    Line(
        "a cached row read, one thread",
        "rows",
        "get a row that is cached, one thread",
        "holdfast",
        "redis-py",
    ),
    Line(
        "log lines counted by place",
        "tallies",
        "10,000,000 lines by country, region and city; 3,000,000 networks",
        "holdfast",
        "Polars",
    ),
)
"""One line for each kind of work: the wins and the losses."""


GOALS_HERE: Final = "<!-- goals -->"

INTRO: Final = (Path(__file__).parent / "speed.md").read_text()
"""How the page begins: what its columns and words mean."""


def keep(benchmark: str, about: str, table: Table) -> None:
    """Renew what is known of one table, and write both pages."""
    results: Results = json.loads(KEPT.read_text()) if KEPT.exists() else {}
    today = datetime.now(UTC).date().isoformat()
    known = results.setdefault(benchmark.partition(":")[0], {})
    known[table.title] = {**table.plain(), "about": f"{today}: {about}"}
    KEPT.write_text(json.dumps(results, indent=1, ensure_ascii=False) + "\n")
    write_pages(results)


def write_pages(results: Results) -> None:
    """Write docs/speed.md, and the table of the README."""
    PAGE.write_text(page(results))
    README.write_text(
        SECTION.sub(lambda m: m[1] + "\n".join(short(results)) + "\n" + m[2], README.read_text())
    )


def page(results: Results) -> str:
    """Return the page: every table, with its targets and results."""
    before, after = INTRO.split(GOALS_HERE)
    parts = [before.rstrip(), *summary(results), after.strip()]
    for benchmark, tables in results.items():
        parts.append(f"## {benchmark}")
        for title, table in tables.items():
            parts += [f"### {title}", "\n".join(_markdown(table["rows"])), *_below(table)]
    return "\n\n".join(parts) + "\n"


def short(results: Results) -> Iterator[str]:
    """Yield the table of the README, without what was never measured."""
    yield "| per second | Holdfast | rival, in the same run | ratio |"
    yield "|---|---:|---:|---:|"
    for line in LINES:
        rows = results.get(line.benchmark, {}).get(line.title, {"rows": []})["rows"]
        ours, theirs = _case(rows, line.ours), _case(rows, line.theirs)
        if ours and theirs:
            ratio = number(theirs[RATIO]["median"])
            yield f"| {line.what} | {_rate(ours)} | {theirs['case']}: {_rate(theirs)} | {ratio} × |"


def _case(rows: Sequence[Plain], name: str) -> Plain | None:
    """Return the first row with a case that begins with *name*."""
    return next((row for row in rows if row["case"].startswith(name)), None)


def _rate(row: Plain) -> str:
    [rate] = [value for column, value in row.items() if column.endswith("/s")][:1]
    return f"{float(f'{rate:.3g}'):,.0f}"


def _markdown(rows: Sequence[Plain]) -> Iterator[str]:
    columns = list(rows[0])
    yield f"| {' | '.join(columns)} |"
    yield f"|---{'|---:' * (len(columns) - 1)}|"
    for row in rows:
        yield f"| {' | '.join(_cell(row[column]) for column in columns)} |"


def _cell(value: Any) -> str:
    match value:
        case None:
            return ""
        case {"low": low, "median": middle, "high": high}:
            return f"{number(middle)} ({number(low)} to {number(high)})"
        case float() | int():
            return number(value)
        case _:
            return str(value).replace("|", "\\|")


def _below(table: Plain) -> Iterator[str]:
    lines = []
    for target in table["targets"]:
        sign = "≥" if target["at_least"] else "≤"
        verdict = "met" if target["met"] else "**missed**"
        value = number(target["value"])
        lines.append(f"- {target['what']} = {value}, wanted {sign} {target['limit']:g}: {verdict}")
    lines += [f"- {note}" for note in table["notes"]]
    if lines:
        yield "\n".join(lines)
    yield f"<sub>{repeated(table['rounds'])}; {table['about']}</sub>"
