"""Writes what the cells showed into `docs/faults.md`: a plugin, with the option `--matrix PAGE`.

The page is the record: a run replaces the rows of the cells that it played, and keeps the others.
"""

import json
from pathlib import Path

import pytest

from faults.matrix.cell_result import KINDS, CellResult
from faults.matrix.nemeses import FAULTS
from faults.matrix.recovery import RECOVERIES
from faults.matrix.table import CELLS, Cell
from faults.matrix.workloads import WORKLOADS
from holdfast import __version__

HEAD = """# The fault matrix

What every block did under every fault: real servers, real processes, real kills, a seeded schedule.

**How do I read this page?** Look up your block in
[promises under faults](#promises-under-faults): its row lists the faults under which it keeps all
promises, and those under which it loses something. Then look up a fault in the table
[at a glance](#at-a-glance). The sections below it are the evidence, one row per run.

```sh
make faults                                       # a selection, in five minutes
make faults-all                                   # all cells
make faults-all ARGS="-k F7-queue --seed 17"      # one cell, with its schedule
```

These runs write this page; a row stays until its cell runs again. The cells are in
`tests/faults/matrix`: one workload for each block, one nemesis for each fault, and a table of the
expected results.

**How a cell runs.** Clients of both halves work while the fault comes again and again for some
seconds. Afterwards every kind of operation must succeed again. Then everything is drained, and a
judge compares what the clients recorded with what the server has. Operations with an unknown
outcome are repeated as documented.

**How recovery is measured.** Locks, tasks, feeds and rows have leases of a second here. Seconds to
recover are counted from the end of the fault (a server that was away answers, a lost primary has a
successor) until each kind of operation was started and completed again by any client. All of it was
measured on a busy machine. A cell that takes longer than its bound has failed.

**Other tests of faults.** `tests/core/test_zombie_primary.py`: a primary goes on after the election
of its successor. `tests/locks/faults`: clock steps and flushes at chosen moments.
`tests/core/test_maxmemory.py`: eviction policies. The tests of each block: older envelopes and
definitions. A server killed under `appendfsync everysec` loses less than F5 cuts off.

| mark | meaning |
|---|---|
| S | safe: no violation |
| U | safe, and operations may have an unknown outcome: repeating them settles that |
| B | bounded: only what is named below, and only what was acknowledged shortly before is lost |
| V | violated, as documented: only what is named below |
| - | does not apply, for the reason below |
"""

COLUMNS = [
    *("fault", "block", "faults injected", "operations", "unknown", "done again", *KINDS),
    *("seconds to recover", "longest wait", "result", "seed", "date", "versions"),
]

COLUMN = {"recovered_s": "seconds to recover", "longest_s": "longest wait"}
"""Of a row, by what a result calls it."""

Rows = dict[tuple[str, str], list[str]]


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add `--matrix`."""
    parser.getgroup("faults").addoption(
        "--matrix", type=Path, help="write what the cells of the fault matrix showed to this page"
    )


def pytest_configure(config: pytest.Config) -> None:
    """Listen, if a page is wanted; with xdist, where all results come together."""
    page = config.getoption("--matrix")
    if page is not None and not hasattr(config, "workerinput"):
        config.pluginmanager.register(ResultCollector(page))


class ResultCollector:
    """Collects results, and writes them at the end of the session."""

    def __init__(self, page: Path) -> None:
        self._page = page
        self._results: list[CellResult] = []

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Store the result that a cell recorded."""
        if report.when == "call":
            for name, value in report.user_properties:
                if name == "cell":
                    self._results.append(CellResult(**json.loads(str(value))))

    def pytest_sessionfinish(self) -> None:
        """Write the page."""
        if self._results:
            write(self._page, self._results)


def write(page: Path, results: list[CellResult]) -> None:
    """Replace the rows of these cells on a page, or begin it."""
    rows = read(page.read_text()) if page.exists() else {}
    rows |= {(each.fault, each.block): row_of(each) for each in results}
    page.write_text(text_of(rows))


def read(text: str) -> Rows:
    """Return the rows of cells on a page."""
    lines = [line for line in text.splitlines() if line.count("|") == len(COLUMNS) + 1]
    cells = [[cell.strip() for cell in line.split("|")[1:-1]] for line in lines]
    return {(row[0], row[1]): row for row in cells if (row[0], row[1]) in CELLS}


def row_of(result: CellResult) -> list[str]:
    """Return a result as a row."""
    numbers = [result.strikes, result.operations, result.unknown, result.repeated]
    numbers += [result.violations.get(kind, 0) for kind in KINDS]
    word = result.word.replace("|", "/").splitlines()[0][:200]
    versions = f"Holdfast {__version__}, {result.server}"
    seconds = f"{result.recovered_s:.2f}"
    longest = f"{result.longest_s:.2f}" if result.longest_s else "-"
    end = [seconds, longest, word, str(result.seed), result.when, versions]
    return [result.fault, result.block, *map(str, numbers), *end]


def text_of(rows: Rows) -> str:
    """Return the whole page."""
    rows = {name: rows[name] for name in CELLS if name in rows}
    sections = [
        HEAD,
        _section("At a glance", ["fault", *WORKLOADS, ""], _glance(rows)),
        "A cell in brackets was not played yet; one in bold did not do what was expected.\n",
        _section(
            "Promises under faults",
            ["block", "held under", "bounded, or violated as documented, under", "broken under"],
            _promises(rows),
        ),
        _section("Recovery", ["after", "bound, s", "longest, s", "in", "cells"], _recovery(rows)),
        _section(
            "What is not safe, and why",
            ["cell", "mark", "allowed", "why", "must a run show it"],
            _reasons(),
        ),
        _section("Runs", COLUMNS, list(rows.values())),
        *(f"* {kind}: {what}\n" for kind, what in KINDS.items()),
    ]
    first, *rest = sections
    kinds = "".join(rest[-len(KINDS) :])
    return "\n".join([first, *rest[: -len(KINDS)], kinds])


def _glance(rows: Rows) -> list[list[str]]:
    codes = dict.fromkeys(fault for fault, _ in CELLS)
    return [
        [code, *(_sign(CELLS[code, block], rows) for block in WORKLOADS), FAULTS[code].title]
        for code in codes
    ]


def _sign(cell: Cell, rows: Rows) -> str:
    if cell.mark == "-":
        return "-"
    row = rows.get((cell.fault, cell.block))
    if row is None:
        return f"({cell.mark})"
    return cell.mark if _word(row) == "held" else f"**{cell.mark}**"


def _promises(rows: Rows) -> list[list[str]]:
    table = []
    for block in WORKLOADS:
        of_block = {fault: row for (fault, name), row in rows.items() if name == block}
        held = [fault for fault, row in of_block.items() if _word(row) == "held"]
        safe = [fault for fault in held if CELLS[fault, block].mark in "SU"]
        bounded = [fault for fault in held if fault not in safe]
        broken = [fault for fault in of_block if fault not in held]
        table.append([block, *(" ".join(each) or "-" for each in (safe, bounded, broken))])
    return table


def _recovery(rows: Rows) -> list[list[str]]:
    table = []
    for each in RECOVERIES:
        place = COLUMNS.index(COLUMN[each.measure])
        seconds = {
            f"{fault} {block}": float(row[place])
            for (fault, block), row in rows.items()
            if each.concerns(fault, block) and row[place] != "-"
        }
        worst = max(seconds, key=seconds.__getitem__, default="-")
        longest = f"{seconds[worst]:.2f}" if seconds else "-"
        if seconds and seconds[worst] > each.bound_s:
            longest = f"**{longest}**"
        table.append([each.what, str(each.bound_s), longest, worst, str(len(seconds))])
    return table


def _reasons() -> list[list[str]]:
    return [
        [
            f"{cell.fault} {cell.block}",
            cell.mark,
            ", ".join(sorted(cell.allows)),
            cell.why,
            _must(cell),
        ]
        for cell in CELLS.values()
        if cell.why
    ]


def _must(cell: Cell) -> str:
    """Return whether a run of the cell without any violation has failed."""
    return "yes" if cell.shows else f"no: {cell.chance}" if cell.chance else "-"


def _word(row: list[str]) -> str:
    return row[COLUMNS.index("result")]


def _section(title: str, columns: list[str], rows: list[list[str]]) -> str:
    lines = [f"## {title}", "", _line(columns), "|" + "---|" * len(columns)]
    return "\n".join([*lines, *map(_line, rows)]) + "\n"


def _line(cells: list[str]) -> str:
    return "| " + " | ".join(cells) + " |"
