"""Signals that interrupt the user of a counter buffer."""

import secrets
import threading

import pytest

from faults.interrupts import interrupted_at, steps_of
from faults.servers import Server
from holdfast import CounterBuffer, Holdfast
from holdfast.counters.pending import GuardedPendingCounts, PendingCounts

pytestmark = pytest.mark.usefixtures("collects_clients")

PATIENCE_S = 30.0


@pytest.fixture(autouse=True, params=[PendingCounts, GuardedPendingCounts])
def counts(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Use the counts for Python with the interpreter lock, and those for Python without it."""
    monkeypatch.setattr("holdfast.counters._sync.buffer.pending_counts", request.param)


@pytest.mark.filterwarnings("ignore::pytest.PytestWarning")
def test_each_count_is_added_once_whichever_line_is_interrupted(standalone: Server) -> None:
    """An interrupted add may count or not; every other add counts exactly once."""
    with Holdfast.from_url(standalone.url, namespace=f"b-{secrets.token_hex(4)}") as hf:
        with hf.counter_buffer(flush_every=3600.0) as buffer:

            def use(name: str = "c") -> None:
                for _ in range(2):
                    buffer.add(name)
                    done.append(1)
                buffer.flush()

            done: list[int] = []
            use("warm")
            done.clear()
            steps = range(1, steps_of(use) + 1)
            for step in steps:
                interrupted_at(step, use)
            flush(buffer)
        total = hf.counter("c").total(3600.0)
    assert len(done) <= total <= len(done) + len(steps)


def flush(buffer: CounterBuffer) -> None:
    """Flush in another thread, which must end."""
    thread = threading.Thread(target=buffer.flush, daemon=True)
    thread.start()
    thread.join(PATIENCE_S)
    assert not thread.is_alive()


def test_a_signal_handler_counts_while_its_thread_counts(standalone: Server) -> None:
    """The signal arrives in the middle of an add, or of a flush."""
    with Holdfast.from_url(standalone.url, namespace=f"b-{secrets.token_hex(4)}") as hf:
        with hf.counter_buffer(flush_every=3600.0) as buffer:
            added = []

            def handler() -> None:
                buffer.add("c")
                added.append(1)
                buffer.flush()

            def use() -> None:
                buffer.add("c")
                buffer.flush()

            use()
            times = 1
            while interrupted_at(times, use, instead=handler):
                times += 1
        assert len(added) == times - 1 > 50
        assert hf.counter("c").total(3600.0) == 1 + times + len(added)
