"""What README.md and docs/speed.md say of speed is what was measured and kept."""

import json
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT))

from benchmarks import speed  # noqa: E402

RESULTS = json.loads(speed.KEPT.read_text())


@pytest.mark.parametrize("line", speed.LINES, ids=[line.what for line in speed.LINES])
def test_a_line_of_the_short_table_was_measured(line: speed.Line) -> None:
    cases = [row["case"] for row in RESULTS[line.benchmark][line.title]["rows"]]
    for name in (line.ours, line.theirs):
        assert any(case.startswith(name) for case in cases), name


def test_the_pages_say_what_was_measured() -> None:
    assert speed.PAGE.read_text() == speed.page(RESULTS)
    assert "\n".join(speed.short(RESULTS)) in speed.README.read_text()
