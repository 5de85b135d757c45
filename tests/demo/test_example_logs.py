"""Test the example of logs: the files that it writes, and its report."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from faults.processes import Process
from holdfast import GeoTable
from holdfast_demo.example_files import example_file, load_example

EXAMPLE = example_file("logs.py")


@pytest.fixture
def example() -> Any:
    return load_example(EXAMPLE)


def test_the_days_are_the_same_for_the_same_seed(example: Any, tmp_path: Path) -> None:
    """Write as many lines as requested; a few are no events."""
    written = []
    for seed in (1, 1, 2):
        folder = tmp_path / f"{len(written)}"
        example.write_days(folder, days=2, lines=4_001, seed=seed)
        logs = sorted(folder.rglob("*.log"))
        assert len(logs) == 2 * len(example.REALMS)
        written.append("".join(log.read_text() for log in logs))
    assert written[0] == written[1] != written[2]
    assert written[0].count("\n") == 2 * 4_001
    direct = example.DirectCount.of(tmp_path / "0")
    assert direct.rejected == written[0].count(example.RESTART) == 8
    assert sum(direct.lines.values()) + direct.rejected == 2 * 4_001
    for (day, _), values in direct.values.items():
        assert values.total() == direct.lines[day]


def test_the_table_says_where_players_are(example: Any, tmp_path: Path) -> None:
    """Compare it with the direct count, which does not use it."""
    table = GeoTable.from_geolite2_csv(*example.write_table(tmp_path))
    for address in ("20.20.1.2", "35.35.0.0", "2a02:100::1", "2a02:115::ffff"):
        assert "/".join(table.lookup(address) or ()) == example.home(address)[-1]
    for address in ("99.99.1.2", "2a02:116::1", "20.21.0.1"):
        assert table.lookup(address) is None
        assert example.home(address) == ("??", "??", "??")


def test_the_example_by_hand() -> None:
    """Run two counters; a direct count has the same result."""
    with Process.python(EXAMPLE, name="logs") as process:
        assert process.wait(110.0) == 0, process.output
        assert re.search("2011-10-12: 19,980 events; US [0-9,]+, ", process.output)
        assert " → " in process.output
