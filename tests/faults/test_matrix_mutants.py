"""Cells in which clients are broken on purpose: the judge of each block bites, in its own word."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from faults.matrix import mutants
from faults.matrix.cell import MODULES, play
from faults.matrix.cell_result import Kind
from faults.matrix.nemeses import FAULTS
from faults.matrix.table import CELLS
from faults.nursery import ForkServer

FAULT = "F7"
"""Replies are lost, and sound clients bear it: `test_matrix.py`."""

pytestmark = pytest.mark.long


@pytest.fixture(scope="module")
def fork_server() -> Iterator[ForkServer]:
    with ForkServer(*MODULES, mutants.__name__) as fork_server:
        yield fork_server


@pytest.mark.parametrize(
    ("block", "mutant", "kind"),
    [
        ("lock", mutants.parts, "overlap"),
        ("semaphore", mutants.parts, "overlap"),
        ("limiter", mutants.parts, "doubled"),
        ("idempotency", mutants.parts, "doubled"),
        ("queue", mutants.renames, "doubled"),
        ("queue", mutants.forgets, "lost"),
        ("partitions", mutants.renames, "doubled"),
        ("partitions", mutants.forgets, "lost"),
        ("schedules", mutants.renames, "doubled"),
        ("schedules", mutants.forgets, "lost"),
        ("completions", mutants.forgets, "lost"),
        ("completions", mutants.keeps, "stale"),
        ("counter", mutants.renames, "doubled"),
        ("counter", mutants.forgets, "lost"),
        ("rows", mutants.keeps, "stale"),
        ("files", mutants.forgets, "lost"),
        ("files", mutants.spills, "disordered"),
        ("files", mutants.repeats, "doubled"),
        ("tallies", mutants.forgets, "stale"),
        ("tallies", mutants.spills, "lost"),
        ("tallies", mutants.repeats, "doubled"),
    ],
)
def test_a_broken_client_is_caught(
    block: str,
    mutant: mutants.Mutant,
    kind: Kind,
    fork_server: ForkServer,
    tmp_path: Path,
    seed: int,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    broken = replace(FAULTS[FAULT], how={"mutant": mutant.__name__})
    monkeypatch.setitem(FAULTS, FAULT, broken)
    result = play(CELLS[FAULT, block], seed=seed, folder=tmp_path, fork_server=fork_server)
    print(result, *result.seen, sep="\n")
    assert result.word.startswith("broken: ")
    assert kind in result.violations
    assert "astray" not in result.violations, "it did not even play its part"
