# Generated from test_singleton_async.py by tools/unasync.py: edit that, then run `make sync`.
"""Functions that run in one process at a time."""

import time

import pytest

from conftest import Site
from holdfast import Holdfast, Lease, LeaseLost, LockTimeout


def test_the_result_of_the_function_is_returned(hf: Holdfast) -> None:
    def work(lease: Lease) -> int:
        state = hf.lock("reports").inspect()
        assert (state.holder, state.fence) == (lease.holder, lease.fence)
        with pytest.raises(LockTimeout):
            hf.lock("reports").acquire(timeout=0)
        return 42

    assert hf.singleton("reports").run(work) == 42
    assert (hf.lock("reports").inspect()).holder is None


def test_an_error_of_the_function_ends_it(hf: Holdfast) -> None:
    def fail(lease: Lease) -> None:
        raise LeaseLost("lock 'another'", 1)

    with pytest.raises(LeaseLost, match="another"):
        hf.singleton("reports").run(fail)
    assert (hf.lock("reports").inspect()).holder is None


def test_after_a_loss_it_waits_for_its_next_turn(hf: Holdfast, site: Site) -> None:
    """What the function returned does not count: another process may run."""
    runs: list[int] = []

    def work(lease: Lease) -> int:
        runs.append(lease.fence)
        if len(runs) == 1:
            for key in site.client.scan_iter(match=f"{site.namespace}:{{lock:*"):
                site.client.delete(key)
            began = time.monotonic()
            assert lease.wait_lost(30)
            assert time.monotonic() - began < 20
        return len(runs)

    assert hf.singleton("reports", lease=1.0).run(work) == 2
    assert runs[0] < runs[1]


def test_options_are_checked(hf: Holdfast) -> None:
    with pytest.raises(ValueError, match="lease"):
        hf.singleton("reports", lease=0.1)
    assert repr(hf.singleton("reports")).endswith("Singleton('reports')")
