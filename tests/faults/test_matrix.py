"""Each block under each fault: `faults/matrix/table.py` says what is expected.

`make faults-all` plays all, `make faults` those marked `choice`, `make test` those not `long`.
"""

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from faults.matrix.cell import MODULES, play
from faults.matrix.table import CELLS, QUICK, Cell, chosen
from faults.nursery import ForkServer


def _params() -> Iterator[object]:
    for name, cell in CELLS.items():
        if cell.mark == "-":
            continue
        marks = [] if name in QUICK else [pytest.mark.long]
        marks += [pytest.mark.choice] if name in chosen() else []
        yield pytest.param(cell, id=f"{cell.fault}-{cell.block}", marks=marks)


@pytest.fixture(scope="module")
def fork_server() -> Iterator[ForkServer]:
    with ForkServer(*MODULES) as fork_server:
        yield fork_server


@pytest.mark.parametrize("cell", list(_params()))
def test_cell(
    cell: Cell,
    fork_server: ForkServer,
    tmp_path: Path,
    seed: int,
    record_property: Callable[[str, object], None],
    request: pytest.FixtureRequest,
) -> None:
    if cell.fault == "F12":
        request.getfixturevalue("faketime")
    result = play(cell, seed=seed, folder=tmp_path, fork_server=fork_server)
    record_property("cell", json.dumps(result.as_json()))
    print(result, *result.seen, sep="\n")
    assert result.word == "held"
