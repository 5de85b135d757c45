"""What a cell makes of violations, and whether the table speaks of what there is."""

from dataclasses import replace
from typing import Any

import pytest

from faults.matrix.cell import LOSS_S, NS, judged
from faults.matrix.cell_result import KINDS, Violation
from faults.matrix.nemeses import FAULTS
from faults.matrix.table import CELLS, QUICK, Cell, chosen
from faults.matrix.workloads import WORKLOADS


class TestVerdict:
    began_ns = 10**12
    lost = Violation("lost", "a", at_ns=10**12)

    def cell(self, mark: str, *allows: Any, shows: bool = False) -> Cell:
        return Cell("F", "block", mark, frozenset(allows), shows=shows)

    @pytest.mark.parametrize("mark", ["S", "U", "B", "V"])
    def test_nothing_wrong(self, mark: str) -> None:
        assert judged(self.cell(mark), [], self.began_ns) == "held"

    def test_what_is_not_allowed(self) -> None:
        assert judged(self.cell("S"), [self.lost], self.began_ns) == "broken: lost: a"

    def test_what_is_documented(self) -> None:
        assert judged(self.cell("V", "lost"), [self.lost], self.began_ns) == "held"

    def test_what_is_beyond_the_bound(self) -> None:
        early = replace(self.lost, at_ns=round(self.began_ns - (LOSS_S + 1) * NS))
        assert judged(self.cell("B", "lost"), [self.lost], self.began_ns) == "held"
        assert judged(self.cell("B", "lost"), [early], self.began_ns).startswith("broken")

    def test_a_violation_that_must_be_seen(self) -> None:
        cell = self.cell("V", "lost", shows=True)
        assert judged(cell, [], self.began_ns).startswith("toothless")
        assert judged(cell, [self.lost], self.began_ns) == "held"


def test_the_table_speaks_of_what_there_is() -> None:
    assert set(CELLS) == {(fault, block) for fault in FAULTS for block in WORKLOADS}
    for cell in CELLS.values():
        assert cell.mark in {"S", "U", "B", "V", "-"}
        assert bool(cell.allows) == (cell.mark in {"B", "V"}), cell
        assert bool(cell.why) == (cell.mark in {"B", "V", "-"}), cell
        assert cell.allows <= KINDS.keys()
        assert bool(cell.allows) == (cell.shows or bool(cell.chance)), cell
        assert not (cell.shows and cell.chance), cell
    assert QUICK <= chosen() <= {name for name, cell in CELLS.items() if cell.mark != "-"}
