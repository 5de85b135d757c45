"""After the server restarts from an older state, only the lost lines are counted again."""

import secrets
import threading
from pathlib import Path
from typing import Any

import pytest

from faults.halves import Half
from faults.rollback import Rollback
from holdfast import AsyncLocalFiles, Counted, LocalFiles

DAY = "2011-10-10"
LINES = 1_000
FILES = {"sync": LocalFiles, "async": AsyncLocalFiles}


@pytest.fixture
def tally(half: Half, rollback: Rollback) -> Any:
    url = f"{rollback.server.url}?socket_timeout=1"
    return half.client(url, f"old-{secrets.token_hex(4)}").tally("daily")


@pytest.mark.parametrize("saved", ["nothing counted", "one file counted", "half-way"])
def test_each_line_is_counted_once(
    half: Half, rollback: Rollback, tally: Any, tmp_path: Path, saved: str
) -> None:
    paths = [tmp_path / "a.log", tmp_path / "b.log"]
    other = tmp_path / "other.log"  # names of files are relative to their common folder
    other.touch()
    for path in paths:
        path.write_text("".join(f"{path.name} {n}\n" for n in range(LINES)))
    seen, gate = threading.Event(), threading.Event()
    lines = 0

    def key(line: bytes) -> Counted:
        nonlocal lines
        lines += 1
        if saved == "half-way" and lines == LINES // 2:
            seen.set()
            gate.wait(60)
        return Counted(DAY, {"file": line.decode().split()[0]})

    def aggregate(some: list[Path]) -> None:
        half.insist(lambda: tally.aggregate(FILES[half.name]([*some, other]), key=key))

    if saved == "half-way":
        counting = threading.Thread(target=aggregate, args=[paths])
        counting.start()
        assert seen.wait(60)
        rollback.save()
        rollback.restart()
        gate.set()
        counting.join()
    else:
        if saved == "one file counted":
            aggregate(paths[:1])
        rollback.save()
        aggregate(paths)
        rollback.restart()
    aggregate(paths)
    aggregate(paths)
    assert dict(half.insist(lambda: tally.top("file", day=DAY))) == {
        path.name: LINES for path in paths
    }
    assert half.insist(lambda: tally.total(DAY)) == 2 * LINES
