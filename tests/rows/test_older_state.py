"""A server that restarts from an older state: readers and refreshers of rows go on."""

import secrets
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import pytest

from faults.halves import Half
from faults.rollback import Rollback
from faults.waiting import eventually
from holdfast import LoadFailed

LEASE_S = 1.0
LOADED_S = 30.0
"""A guard against hanging: an abandoned load costs a lease and some seconds."""


class Table:
    def __init__(self) -> None:
        self.version = 1
        self.loads = 0
        self.gate = threading.Event()
        self.gate.set()

    def load(self, ids: Sequence[int]) -> dict[int, int]:
        version = self.version
        self.loads += 1
        self.gate.wait(LOADED_S)
        return dict.fromkeys(ids, version)


@pytest.fixture
def table() -> Iterator[Table]:
    table = Table()
    yield table
    table.gate.set()


@pytest.fixture
def cache(half: Half, rollback: Rollback, table: Table) -> Any:
    url = f"{rollback.server.url}?socket_timeout=1"
    hf = half.client(url, f"old-{secrets.token_hex(4)}")
    return hf.row_cache("stock", source=table, lease=LEASE_S)


@contextmanager
def refreshing(half: Half, cache: Any) -> Iterator[None]:
    """Run a refresher until the block ends."""
    thread = threading.Thread(target=lambda: half.do(cache.run()))
    thread.start()
    try:
        yield
    finally:
        cache.stop()
        thread.join()


def shown(half: Half, cache: Any) -> Any:
    try:
        return half.insist(lambda: cache.get(7, timeout=1.0)).value
    except LoadFailed:
        return None


@pytest.mark.parametrize("saved", ["not scheduled", "scheduled", "fresh"])
def test_a_row_is_refreshed_again(
    half: Half, rollback: Rollback, cache: Any, table: Table, saved: str
) -> None:
    if saved != "not scheduled":
        half.do(cache.schedule(7, every=0.1))
    with refreshing(half, cache):
        if saved == "not scheduled":
            rollback.save()
            half.do(cache.schedule(7, every=0.1))
        elif saved == "scheduled":
            rollback.save()
        eventually(lambda: shown(half, cache) == 1)
        if saved == "fresh":
            rollback.save()
        table.version = 2
        half.insist(lambda: cache.invalidate(7))
        eventually(lambda: shown(half, cache) == 2)
        rollback.restart()
        half.insist(lambda: cache.invalidate(7))
        eventually(lambda: shown(half, cache) == 2, LOADED_S)


@pytest.mark.parametrize("scheduled", [True, False])
@pytest.mark.parametrize("saved", ["before", "loading"])
def test_a_row_that_was_loaded_meanwhile_is_loaded_again(
    half: Half, rollback: Rollback, cache: Any, table: Table, saved: str, scheduled: bool
) -> None:
    """A load that ended, or that the server does not know, holds readers up for a lease."""
    if scheduled:
        half.do(cache.schedule(7, every=0.1))
    rollback.save()
    table.gate.clear()
    readers: list[Any] = []
    with refreshing(half, cache):
        reader = threading.Thread(target=lambda: readers.append(shown(half, cache)))
        reader.start()
        eventually(lambda: table.loads)
        if saved == "loading":
            rollback.save()
            table.gate.set()
            eventually(lambda: shown(half, cache) == 1)
        rollback.restart()
        table.gate.set()
        eventually(lambda: shown(half, cache) == 1, LOADED_S)
        reader.join()
        if scheduled:
            loads = table.loads
            eventually(lambda: table.loads > loads + 2, LOADED_S)
