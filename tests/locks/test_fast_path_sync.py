# Generated from test_fast_path_async.py by tools/unasync.py: edit that, then run `make sync`.
"""The fast path to a free permit and back, and the cases that leave it."""

from collections.abc import Iterator

import pytest

from conftest import Site
from faults.waiting import eventually
from holdfast import (
    DefinitionConflict,
    Holdfast,
    LeaseLost,
    LockTimeout,
    NotDefined,
)
from holdfast.core.concurrency._sync.background_task import BackgroundTask


@pytest.fixture
def hf(site: Site) -> Iterator[Holdfast]:
    """Return a client that has used its lock `l` before."""
    with Holdfast.from_url(site.url, namespace=site.namespace) as hf:
        with hf.lock("l").hold():
            pass
        yield hf


def test_scripts_that_the_server_forgot_are_loaded_again(site: Site, hf: Holdfast) -> None:
    lock = hf.lock("l")
    site.client.script_flush()
    with lock.hold() as lease:
        assert (lock.inspect()).fence == lease.fence
        site.client.script_flush()
    assert (lock.inspect()).holder is None


def test_a_client_that_is_refused_on_the_fast_path_waits(hf: Holdfast) -> None:
    lock = hf.lock("l")
    first = lock.acquire()
    assert lock.try_acquire() is None
    with pytest.raises(LockTimeout) as caught:
        lock.acquire(timeout=0)
    assert caught.value.holder == first.holder
    waiting = BackgroundTask(lock.acquire)
    eventually(lambda: waiters(hf, 1))
    first.release()
    second = waiting.outcome()
    assert second.fence > first.fence
    second.release()
    with lock.hold() as third:
        assert third.fence > second.fence


def waiters(hf: Holdfast, count: int) -> bool:
    """Return whether the lock has *count* waiters."""
    return len((hf.lock("l").inspect()).waiters) == count


def test_the_limit_is_checked_on_the_fast_path(hf: Holdfast) -> None:
    with pytest.raises(NotDefined):
        hf.semaphore("s").acquire()
    with hf.semaphore("s", limit=2).hold():
        pass
    with pytest.raises(DefinitionConflict):
        hf.semaphore("s", limit=3, on_conflict="error").try_acquire()


def test_the_release_of_a_lease_that_the_server_forgot_raises(site: Site, hf: Holdfast) -> None:
    with pytest.raises(LeaseLost), hf.lock("l").hold():
        site.client.delete(f"{site.namespace}:{{lock:l}}:state")


def test_a_hold_is_for_one_block(hf: Holdfast) -> None:
    """A second block raises, and the lock is free after the first one."""
    hold = hf.lock("l").hold()
    with hold, pytest.raises(RuntimeError, match="call `hold` for each"), hold:
        pytest.fail("it was held twice")
    assert (hf.lock("l").inspect()).holder is None


def test_a_wrong_timeout_is_refused_before_anything_is_sent(hf: Holdfast) -> None:
    with pytest.raises(ValueError, match="timeout"):
        hf.lock("l").hold(timeout=-1)
