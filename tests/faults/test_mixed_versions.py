"""The version that was released last and the present one share a server, and processes are killed.

Each test is a cell of the matrix in which every other process is of the former version.
"""

import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from faults.former_version import FormerVersion, NoFormerVersion, former_version
from faults.matrix.cell import play
from faults.matrix.nemeses import FAULTS
from faults.matrix.table import CELLS
from faults.matrix.workloads import WORKLOADS, queues
from faults.mixed_fleet import MixedFleet
from faults.waiting import eventually

BLOCKS = ("queue", "lock", "chat", "counter", "cache", "files")
STRUCK = ("F1", "F2", "F3")
"""Clients are killed, clients are paused for longer than their lease, the server is killed."""

SHORT_S, LONG_S = 1.5, 20.0
"""Seconds of trouble in `make test`, and in `make faults-all`."""

WHERE = "import holdfast, sys; open(sys.argv[1], 'a').write(holdfast.__file__ + chr(10))"


@pytest.fixture(scope="module")
def former(tmp_path_factory: pytest.TempPathFactory) -> FormerVersion:
    """Build the former version."""
    try:
        return former_version(tmp_path_factory.mktemp("former"))
    except NoFormerVersion as error:
        pytest.skip(str(error))


@pytest.fixture(scope="module")
def fleet(former: FormerVersion) -> Iterator[MixedFleet]:
    """Yield processes of both versions."""
    modules = sorted({WORKLOADS[block].module for block in BLOCKS})
    with MixedFleet(*modules, former=former) as fleet:
        yield fleet


def test_a_fleet_has_both_versions(
    fleet: MixedFleet, former: FormerVersion, tmp_path: Path
) -> None:
    program, report = tmp_path / "where.py", tmp_path / "report"
    program.write_text(f"import sys\nsys.argv = ['', {str(report)!r}]\n{WHERE}\n")
    for _ in range(4):
        fleet.request("fork", seed="", play="runpy:run_path", path_name=str(program))
    eventually(lambda: report.exists() and len(report.read_text().splitlines()) == 4)
    places = report.read_text().splitlines()
    assert sum(place.startswith(str(former.wheel)) for place in places) == 2


def test_both_versions_know_the_tasks_of_the_queue(former: FormerVersion) -> None:
    program = "from queues.faults import chores; print(*(kind.name for kind in chores.tasks))"
    command = [sys.executable, "-c", program]
    printed = subprocess.run(command, env=os.environ | former.env, capture_output=True, check=True)
    assert {kind.name for kind in queues.KINDS} <= set(printed.stdout.decode().split())


def _cells() -> Iterator[object]:
    for fault in STRUCK:
        for block in BLOCKS:
            yield pytest.param(fault, block, True, id=f"{fault}-{block}", marks=pytest.mark.long)
    for block in ("queue", "lock"):
        yield pytest.param("F1", block, False, id=f"short-{block}")


@pytest.mark.parametrize(("fault", "block", "is_long"), list(_cells()))
def test_two_versions_share_a_server(
    fault: str,
    block: str,
    is_long: bool,
    fleet: MixedFleet,
    tmp_path: Path,
    seed: int,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Nothing is lost, nothing is doubled, and exclusion holds."""
    trouble_s = LONG_S if is_long else SHORT_S
    monkeypatch.setitem(FAULTS, fault, replace(FAULTS[fault], trouble_s=trouble_s))
    before = fleet.lives.copy()
    result = play(CELLS[fault, block], seed=seed, folder=tmp_path, fork_server=fleet)
    assert result.word == "held", result.seen
    took_part = fleet.lives - before
    assert min(took_part["former"], took_part["present"]) > 0
