"""Counters and buffers on a server that restarts from an older state."""

import secrets
from typing import Any

import pytest

from faults.halves import Half
from faults.rollback import Rollback
from faults.waiting import eventually

COUNTED_S = 30.0


@pytest.fixture
def hf(half: Half, rollback: Rollback) -> Any:
    return half.client(f"{rollback.server.url}?socket_timeout=1", f"old-{secrets.token_hex(4)}")


@pytest.mark.parametrize("saved", ["before the first", "between"])
def test_a_counter_continues_from_the_older_state(
    half: Half, rollback: Rollback, hf: Any, saved: str
) -> None:
    counter = hf.counter("hits", precisions=(60, 3600), keep=100)
    if saved == "between":
        half.do(counter.add(10))
    rollback.save()
    half.do(counter.add(100))
    rollback.restart()
    half.insist(lambda: counter.add(1))
    expected = 11 if saved == "between" else 1
    assert half.insist(lambda: counter.total(3600)) == expected


@pytest.mark.parametrize("saved", ["before the first", "between"])
def test_a_buffer_continues_after_the_restart(
    half: Half, rollback: Rollback, hf: Any, saved: str
) -> None:
    """It keeps flushing, includes counts made during the outage, and can be closed."""
    half.do(hf.counter("hits", precisions=(60, 3600), keep=100).add(0))
    rollback.save()
    buffer = hf.counter_buffer(flush_every=0.1)

    def add(count: int) -> None:
        async def add_in_the_loop() -> None:
            buffer.add("hits", count)

        half.do(add_in_the_loop() if half.name == "async" else buffer.add("hits", count))

    def total() -> int:
        found: int = half.insist(lambda: hf.counter("hits").total(3600))
        return found

    add(10)
    eventually(lambda: total() == 10)
    if saved == "between":
        rollback.save()
    add(100)
    eventually(lambda: total() == 110)
    rollback.restart()
    add(1)
    expected = 11 if saved == "between" else 1
    # The last flush may have been in flight: then it is repeated.
    eventually(lambda: total() in {expected, expected + 100}, COUNTED_S)
    half.do(buffer.close())
