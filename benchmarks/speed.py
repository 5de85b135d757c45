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

from .report import Table, number

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
        theirs: likewise; each becomes a rival of this line.
    """

    what: str
    benchmark: str
    title: str
    ours: str
    theirs: Sequence[str]


LINES: Final = (
    Line(
        "a call, asyncio, 50 coroutines",
        "calls",
        "calls, asyncio, coroutines: 50",
        "holdfast",
        ["redis-py"],
    ),
    Line(
        "a call, asyncio, 1 coroutine",
        "calls",
        "calls, asyncio, coroutines: 1",
        "holdfast",
        ["redis-py"],
    ),
    Line(
        "a call, blocking, 1 thread",
        "calls",
        "calls, blocking, threads: 1",
        "holdfast",
        ["redis-py"],
    ),
    Line(
        "a call, blocking, 16 threads",
        "calls",
        "calls, blocking, threads: 16",
        "holdfast",
        ["redis-py"],
    ),
    Line(
        "a call that one replica has, 50 coroutines",
        "durable",
        "durable calls, asyncio, coroutines: 50",
        "holdfast",
        ["redis-py"],
    ),
    Line(
        "a task enqueued",
        "queue",
        "enqueue, one after the other",
        "holdfast",
        ["Huey", "RQ", "Celery"],
    ),
    Line(
        "a task enqueued, 50 coroutines",
        "queue",
        "enqueue, 50 coroutines at once",
        "holdfast",
        ["SAQ", "arq"],
    ),
    Line(
        "a task that does nothing worked off, coroutines",
        "queue",
        "one worker, no-op tasks, coroutines",
        "holdfast",
        ["SAQ, 100", "taskiq", "arq"],
    ),
    Line(
        "likewise, threads",
        "queue",
        "one worker, no-op tasks, plain functions in threads",
        "holdfast",
        ["Huey", "Celery"],
    ),
    Line(
        "a lock taken and given back",
        "leases",
        "an uncontended lock acquired and released, one thread",
        "holdfast",
        ["redis-py"],
    ),
    Line(
        "50 coroutines, a lock each",
        "leases",
        "50 coroutines, a lock each",
        "holdfast",
        ["redis-py"],
    ),
    Line(
        "a message into one chat, 100 coroutines",
        "messages",
        "send to one chat, 100 coroutines",
        "holdfast",
        ["textbook", "bare lane"],
    ),
    Line(
        "100 chats fetched, 5 new in each",
        "messages",
        "fetch of 100 chats, 5 new in each",
        "holdfast",
        ["textbook"],
    ),
    Line(
        "a search among 10,000 names",
        "completions",
        "search, one client",
        "holdfast",
        ["textbook", "BYLEX"],
    ),
    Line(
        "the same search, 16 clients at once",
        "completions",
        "search, 16 clients",
        "holdfast, 16 coroutines",
        ["textbook", "BYLEX"],
    ),
    Line(
        "a count in seven precisions, 50 coroutines",
        "counters",
        "add, 50 coroutines",
        "holdfast",
        ["textbook"],
    ),
    Line(
        "a cached row",
        "rows",
        "get a row that is cached, one thread",
        "holdfast",
        ["redis-py", "dogpile"],
    ),
    Line(
        "100 rows that are not cached",
        "rows",
        "a hundred rows that are not cached, loaded together",
        "holdfast",
        ["dogpile", "cashews"],
    ),
    Line(
        "changed rows refreshed, SQLite",
        "rows",
        "refresh rows of SQLite, one process",
        "holdfast",
        ["textbook"],
    ),
    Line(
        "128 KiB from publisher to consumer",
        "files",
        "chunks of 128 KiB from one publisher to one consumer",
        "holdfast",
        ["plain"],
    ),
    Line(
        "a line of a log, counted by place",
        "tallies",
        "10,000,000 lines by country, region and city; 3,000,000 networks",
        "holdfast",
        ["Polars", "textbook"],
    ),
)


INTRO: Final = """\
# Speed

Written by `make bench`: medians of interleaved rounds beside others, on the machine and the day
that stand below each table. Compare only the ratios (`ours ÷ this`), and only within one table:
shared machines are up to 2.5 times slower on some days.
[How it is measured](../benchmarks/README.md)
"""


def keep(benchmark: str, about: str, table: Table) -> None:
    """Renew what is known of one table, and write both pages."""
    results: Results = json.loads(KEPT.read_text()) if KEPT.exists() else {}
    today = datetime.now(UTC).date().isoformat()
    known = results.setdefault(benchmark.partition(":")[0], {})
    known[table.title] = {**table.plain(), "about": f"{today}: {about}"}
    KEPT.write_text(json.dumps(results, indent=1, ensure_ascii=False) + "\n")
    PAGE.write_text(page(results))
    README.write_text(
        SECTION.sub(lambda m: m[1] + "\n".join(short(results)) + "\n" + m[2], README.read_text())
    )


def page(results: Results) -> str:
    """Return the page: every table, with its targets and results."""
    parts = [INTRO.rstrip()]
    for benchmark, tables in results.items():
        parts.append(f"## {benchmark}")
        for title, table in tables.items():
            parts += [f"### {title}", "\n".join(_markdown(table["rows"])), *_below(table)]
    return "\n\n".join(parts) + "\n"


def short(results: Results) -> Iterator[str]:
    """Yield the table of the README, without what was never measured."""
    yield "| | Holdfast | beside it, in the same run | ratio |"
    yield "|---|---|---|---|"
    for line in LINES:
        table = results.get(line.benchmark, {}).get(line.title, {"rows": []})
        ours = _cases(table, [line.ours])
        rivals = _cases(table, line.theirs)
        if ours and rivals:
            beside = ", ".join(f"{row['case']} {_rate(row)}" for row in rivals)
            ratios = ", ".join(f"{number(row[RATIO]['median'])} ×" for row in rivals)
            yield f"| {line.what} | {_rate(ours[0])} | {beside} | {ratios} |"


def _cases(table: Plain, names: Sequence[str]) -> list[Plain]:
    """Return the first row that begins with each name; rivals may be missing."""
    rows = [[row for row in table["rows"] if row["case"].startswith(name)] for name in names]
    return [found[0] for found in rows if found]


def _rate(row: Plain) -> str:
    [rate] = [value for column, value in row.items() if column.endswith("/s")][:1]
    return f"{float(f'{rate:.3g}'):,.0f}/s"


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
    yield f"<sub>{table['about']}</sub>"
