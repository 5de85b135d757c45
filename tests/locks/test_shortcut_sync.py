# Generated from test_shortcut_async.py by tools/unasync.py: edit that, then run `make sync`.
"""The short way to a free place and back, and where it leads on to the long one."""

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
    """A client that knows the way to its lock `l`."""
    with Holdfast.from_url(site.url, namespace=site.namespace) as hf:
        with hf.lock("l").hold():
            pass
        yield hf


def test_a_server_that_forgot_the_scripts_is_told_them_again(site: Site, hf: Holdfast) -> None:
    lock = hf.lock("l")
    site.client.script_flush()
    with lock.hold() as lease:
        assert (lock.inspect()).fence == lease.fence
        site.client.script_flush()
    assert (lock.inspect()).holder is None


def test_who_is_refused_by_the_short_way_stands_in_line(hf: Holdfast) -> None:
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
    """Whether so many wait for the lock."""
    return len((hf.lock("l").inspect()).waiters) == count


def test_a_limit_is_checked_on_the_short_way(hf: Holdfast) -> None:
    with pytest.raises(NotDefined):
        hf.semaphore("s").acquire()
    with hf.semaphore("s", limit=2).hold():
        pass
    with pytest.raises(DefinitionConflict):
        hf.semaphore("s", limit=3).try_acquire()


def test_a_lease_that_the_server_forgot_is_lost_when_it_is_given_back(
    site: Site, hf: Holdfast
) -> None:
    with pytest.raises(LeaseLost), hf.lock("l").hold():
        site.client.delete(f"{site.namespace}:{{lock:l}}:state")


def test_a_hold_is_for_one_block(hf: Holdfast) -> None:
    """Two blocks would have two leases; and it is free after the first."""
    hold = hf.lock("l").hold()
    with hold, pytest.raises(RuntimeError, match="call `hold` for each"), hold:
        pytest.fail("it was held twice")
    assert (hf.lock("l").inspect()).holder is None


def test_a_wrong_timeout_is_refused_before_anything_is_sent(hf: Holdfast) -> None:
    with pytest.raises(ValueError, match="timeout"):
        hf.lock("l").hold(timeout=-1)
