"""What README.md and docs/speed.md say of speed is what was measured and kept."""

import json
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT))

from benchmarks import goals, report, speed  # noqa: E402

RESULTS = json.loads(speed.KEPT.read_text())


@pytest.mark.parametrize("line", speed.LINES, ids=[line.what for line in speed.LINES])
def test_a_line_of_the_short_table_was_measured(line: speed.Line) -> None:
    cases = [row["case"] for row in RESULTS[line.benchmark][line.title]["rows"]]
    for name in (line.ours, line.theirs):
        assert any(case.startswith(name) for case in cases), name


def test_the_pages_say_what_was_measured() -> None:
    assert speed.PAGE.read_text() == speed.page(RESULTS)
    assert "\n".join(speed.short(RESULTS)) in speed.README.read_text()


def test_few_rounds_are_not_called_medians_in_silence() -> None:
    """Each table says how many rounds it had."""
    for tables in RESULTS.values():
        for table in tables.values():
            assert table["rounds"] >= 1
            assert report.repeated(table["rounds"]) in speed.PAGE.read_text()


def test_a_goal_is_beside_the_best_rival_and_the_limit() -> None:
    goal = goals.Goal("cycles", "leases", "one lock", 400, "cycles/s")
    rows = [
        {"case": "holdfast", "cycles/s": 300.0, "max ÷ min": 1.0, "inside": 1},
        {"case": "fair rival", "cycles/s": 200.0, "max ÷ min": 1.0, "inside": 1},
        {"case": "unfair rival", "cycles/s": 600.0, "max ÷ min": 99.0, "inside": 1},
        {"case": "broken rival", "cycles/s": 900.0, "max ÷ min": 1.0, "inside": 2},
        {"case": "bare connection", "cycles/s": 1000.0, "max ÷ min": 1.0, "inside": 1},
    ]
    target = goal.target(rows)
    assert target is not None
    assert not target.met
    assert goal.row(rows) == [
        "cycles",
        "300",
        "unfair rival: 600 (unfair: 99.0 to 1)",
        "0.500 ×",
        "1,000",
        "30%",
        "≥ 400",
        "**missed**",
    ]


def test_less_is_better_for_a_wait() -> None:
    goal = goals.Goal("p99", "queue", "waits", 2, "p99 ms", at_least=False)
    rows = [{"case": "holdfast", "p99 ms": 1.0}, {"case": "rival", "p99 ms": 3.0}]
    assert goal.row(rows)[1:4] == ["1.00", "rival: 3.00", "3.00 ×"]
    assert goal.row(rows)[-1] == "met"
    assert goal.row([])[1] == "not measured yet"


def test_no_goal_is_lost_in_the_page() -> None:
    page = speed.PAGE.read_text()
    for block, listed in goals.GOALS.items():
        assert f"### {block}: goals" in page
        assert all(f"| {goal.what} |" in page for goal in listed)
