"""What is to be reached: each goal is about one figure of one table.

A run shows the goals below their tables; docs/speed.md begins with all of them, by block, each
beside the best rival of its table and beside the bare connection, which does the least possible.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from .report import Table, Target, number

OURS: Final = "holdfast"
LIMIT: Final = "bare"
YARDSTICK: Final = "RPUSH, BLPOP loop"
"""How cases begin that are no rivals."""

INSIDE: Final = "inside"
"""How many held a lock at once: more than one, and it is no rival."""

SHARED: Final = "max ÷ min"
UNFAIR: Final = 3.0
"""A rival that shares a lock less evenly is marked."""

Row = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Goal:
    """A bound of one figure.

    Attributes:
        what: is measured.
        benchmark: that measures it.
        title: of the table.
        bound: to reach, or not to exceed.
        column: of the figure.
        ours: our case, by the beginning of its name.
        at_least: whether more is better.
    """

    what: str
    benchmark: str
    title: str
    bound: float
    column: str = "rate/s"
    ours: str = OURS
    at_least: bool = True

    def target(self, rows: Sequence[Row]) -> Target | None:
        """Return what became of it in *rows*; None if they do not show it."""
        if (ours := self._ours(rows)) is None:
            return None
        what = f"{_name(ours)}, {self.column}"
        return Target(what, float(ours[self.column]), self.bound, self.at_least)

    def row(self, rows: Sequence[Row]) -> list[str]:
        """Return its row in the table of its block: figures, ratios, and whether it was met."""
        ours, target = self._ours(rows), self.target(rows)
        sign = "≥" if self.at_least else "≤"
        bound = f"{sign} {number(self.bound)}"
        if ours is None or target is None:
            return [self.what, "not measured yet", "", "", "", "", bound, ""]
        rival = self._best(row for row in rows if _is_rival(row))
        limit = self._best(row for row in rows if _name(row).startswith(LIMIT))
        met = "met" if target.met else "**missed**"
        return [
            self.what,
            number(target.value),
            self._shown(rival),
            self._ratio(ours, rival),
            "" if limit is None else number(limit[self.column]),
            self._share(ours, limit),
            bound,
            met,
        ]

    def _ours(self, rows: Sequence[Row]) -> Row | None:
        found = (row for row in rows if _name(row).startswith(self.ours))
        return next((row for row in found if row.get(self.column) is not None), None)

    def _best(self, rows: Iterator[Row]) -> Row | None:
        choose = max if self.at_least else min
        found = [row for row in rows if isinstance(row.get(self.column), int | float)]
        return choose(found, key=lambda row: float(row[self.column]), default=None)

    def _shown(self, rival: Row | None) -> str:
        if rival is None:
            return ""
        shared = rival.get(SHARED, 1.0)
        unfair = f" (unfair: {number(shared)} to 1)" if shared > UNFAIR else ""
        return f"{_name(rival)}: {number(rival[self.column])}{unfair}"

    def _ratio(self, ours: Row, rival: Row | None) -> str:
        """Return how many times as good ours is."""
        if rival is None or not rival[self.column] or not ours[self.column]:
            return ""
        ratio = ours[self.column] / rival[self.column]
        return f"{number(ratio if self.at_least else 1 / ratio)} ×"

    def _share(self, ours: Row, limit: Row | None) -> str:
        """Return how much of what is possible ours reaches."""
        if limit is None or not limit[self.column] or not ours[self.column]:
            return ""
        share = ours[self.column] / limit[self.column]
        return f"{share if self.at_least else 1 / share:.0%}"


COLUMNS: Final = (
    *("work", "Holdfast", "best rival", "ratio", "limit", "of it", "goal", "reached"),
)

_LOCKED: Final = "16 processes, one lock, hold 0"
_THREADS: Final = "16 threads of one process, one lock, hold 0"
_HELD: Final = "16 processes, one lock, hold 2 ms, ideal 500/s"
_LATENCY: Final = "from enqueue to start, a task every 20 ms"
_CYCLES: Final = "cycles/s"
_LINES: Final = "10,000,000 lines by country, region and city; 3,000,000 networks"
_COUNTRIES: Final = "10,000,000 lines by country; 3,000,000 networks"

GOALS: Final[Mapping[str, Sequence[Goal]]] = {
    "Locks": (
        Goal("16 processes, one lock: cycles/s", "leases", _LOCKED, 6_000, _CYCLES),
        Goal("wait, p99 ms", "leases", _LOCKED, 4, "p99 ms", at_least=False),
        Goal("fairness, max ÷ min", "leases", _LOCKED, 1.05, SHARED, at_least=False),
        Goal("the same held for 2 ms: cycles/s", "leases", _HELD, 410, _CYCLES),
        Goal("16 threads, one lock: cycles/s", "leases", _THREADS, 6_500, _CYCLES),
        Goal(
            "an uncontended lock: cycles/s",
            "leases",
            "an uncontended lock acquired and released, one thread",
            4_400,
        ),
    ),
    "Tasks": (
        Goal("enqueue to start: p50 ms", "queue", _LATENCY, 0.95, "p50 ms", at_least=False),
        Goal("p99 ms", "queue", _LATENCY, 2, "p99 ms", at_least=False),
        Goal("longest, ms", "queue", _LATENCY, 5, "max ms", at_least=False),
        Goal("single enqueues/s", "queue", "enqueue, one after the other", 6_000),
        Goal("enqueues/s in bulk", "queue", "enqueue many, in batches of 500", 160_000),
        Goal("no-op async tasks/s", "queue", "one worker, no-op tasks, coroutines", 32_000),
        Goal(
            "no-op tasks/s in threads",
            "queue",
            "one worker, no-op tasks, plain functions in threads",
            8_000,
        ),
        Goal(
            "no-op tasks/s of 100 queues", "queue", "one worker, no-op tasks in 100 queues", 15_000
        ),
        Goal(
            "bytes of a waiting task",
            "queue",
            "server memory of a waiting task",
            130,
            "bytes per task",
            at_least=False,
        ),
    ),
    "Messages": (
        Goal(
            "100 chats, nothing new: fetches/s", "messages", "fetch 100 chats, 0 new in each", 2_000
        ),
        Goal("5 new in each: fetches/s", "messages", "fetch 100 chats, 5 new in each", 400),
        Goal(
            "fetched and acknowledged/s",
            "messages",
            "fetch and acknowledge 100 chats, 5 new in each",
            200,
        ),
    ),
    "Completions": (
        Goal("searches/s, 16 coroutines", "completions", "search, 16 coroutines", 45_000),
        Goal("searches/s, 100 coroutines", "completions", "search, 100 coroutines", 90_000),
    ),
    "Rows": (
        Goal(
            "rows refreshed/s, new",
            "rows",
            "refresh rows of PostgreSQL, one process",
            38_000,
            ours="holdfast, new",
        ),
        Goal(
            "rows refreshed/s, changed",
            "rows",
            "refresh rows of PostgreSQL, one process",
            32_000,
            ours="holdfast, all changed",
        ),
    ),
    "Tallies": (
        Goal("lines/s by country", "tallies", _COUNTRIES, 6_500_000),
        Goal("lines/s by country, region and city", "tallies", _LINES, 4_500_000),
        Goal("lines/s through a feed", "tallies", _LINES, 2_500_000, ours="holdfast, feed"),
    ),
    "Calls": (Goal("16 threads: calls/s", "calls", "calls, blocking, threads: 16", 65_000),),
}


def with_goals(benchmark: str, table: Table) -> Table:
    """Return *table* with the goals that are about it as targets."""
    rows = table.plain()["rows"]
    found = [
        target
        for goal in _all()
        if goal.benchmark == benchmark.partition(":")[0] and goal.title == table.title
        if (target := goal.target(rows))
    ]
    return replace(table, targets=[*table.targets, *found]) if found else table


def summary(results: Mapping[str, Mapping[str, Any]]) -> Iterator[str]:
    """Yield the goals in Markdown: how many were met, and a table for each block."""
    reached = [goal.target(_rows(results, goal)) for goal in _all()]
    met = sum(target.met for target in reached if target)
    missed = sum(not target.met for target in reached if target)
    yield f"{met} goals are met, {missed} missed, {reached.count(None)} not measured yet."
    for block, goals in GOALS.items():
        lines = [COLUMNS, ["---", "---:", "---", *["---:"] * 4, "---"]]
        lines += [goal.row(_rows(results, goal)) for goal in goals]
        yield f"### {block}: goals"
        yield "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _all() -> list[Goal]:
    return [goal for goals in GOALS.values() for goal in goals]


def _rows(results: Mapping[str, Mapping[str, Any]], goal: Goal) -> Sequence[Row]:
    rows: Sequence[Row] = results.get(goal.benchmark, {}).get(goal.title, {}).get("rows", [])
    return rows


def _is_rival(row: Row) -> bool:
    return not _name(row).startswith((OURS, LIMIT, YARDSTICK)) and row.get(INSIDE, 1) <= 1


def _name(row: Row) -> str:
    return str(next(iter(row.values())))
