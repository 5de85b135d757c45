"""The page of the fault matrix: a run replaces its own rows, and keeps the others."""

from pathlib import Path

from faults.matrix import report
from faults.matrix.cell_result import CellResult
from faults.matrix.table import CELLS

ROOT = Path(__file__).resolve().parents[2]


def result(fault: str, block: str, seed: int, word: str = "held") -> CellResult:
    return CellResult(
        fault,
        block,
        CELLS[fault, block].mark,
        seed,
        strikes=3,
        operations=500,
        violations={"lost": 2},
        word=word,
        when="2026-11-22",
        server="valkey 9.1.2",
    )


def test_rows_are_replaced_and_kept(tmp_path: Path) -> None:
    page = tmp_path / "faults.md"
    report.write(page, [result("F1", "queue", 1), result("F9", "chat", 2)])
    report.write(page, [result("F1", "queue", 3, word="broken: lost: a | b\nmore")])
    rows = report.read(page.read_text())
    assert rows.keys() == {("F1", "queue"), ("F9", "chat")}
    seed, word = report.COLUMNS.index("seed"), report.COLUMNS.index("result")
    lost = report.COLUMNS.index("lost")
    assert [rows["F9", "chat"][column] for column in (seed, word, lost)] == ["2", "held", "2"]
    assert [rows["F1", "queue"][column] for column in (seed, word)] == ["3", "broken: lost: a / b"]
    text = page.read_text()
    assert "| queue | - | - | F1 |" in text
    assert "| chat | - | F9 | - |" in text


def test_recovery_is_shown_beside_its_bound(tmp_path: Path) -> None:
    """The longest of all cells that a promise is about, and bold when that took too long."""
    page = tmp_path / "faults.md"
    played = [result("F3", "queue", 1), result("F4", "chat", 2), result("F1", "queue", 3)]
    played[0].recovered_s, played[1].recovered_s, played[2].longest_s = 0.5, 4.5, 7.25
    report.write(page, played)
    text = page.read_text()
    assert "from its first answer until everything works again | 5.0 | 4.50 | F4 chat | 2 |" in text
    assert "until that runs again | 6.0 | **7.25** | F1 queue | 1 |" in text
    assert "from the election until everything works again | 5.0 | - | - | 0 |" in text


def test_the_page_in_the_docs_is_what_this_would_write() -> None:
    text = (ROOT / "docs/faults.md").read_text()
    assert report.text_of(report.read(text)) == text
