# Generated from test_rw_lock_async.py by tools/unasync.py: edit that, then run `make sync`.
"""Reader-writer locks in one client."""

import pytest

from conftest import Site
from holdfast import Holdfast, LeaseLost, LockTimeout, RwLockState, StaleFence


def test_readers_share_it_and_a_writer_has_it_alone(hf: Holdfast) -> None:
    lock = hf.rw_lock("index", lease=60.0)
    with lock.read() as one, lock.read() as two:
        assert lock.try_write() is None
        state = lock.inspect()
        assert {reader.name for reader in state.readers} == {one.holder, two.holder}
        assert (state.writer, state.fence) == (None, None)
    with lock.write(timeout=30) as lease:
        assert lock.try_read() is None
        assert lock.try_write() is None
        state = lock.inspect()
        assert state.writer is not None
        assert (state.writer.name, state.fence, state.readers) == (lease.holder, lease.fence, ())
        with pytest.raises(LockTimeout, match="rw_lock 'index' was not free") as caught:
            lock.acquire_read(timeout=0.1)
        assert caught.value.holder == lease.holder
    assert lock.inspect() == RwLockState(None, None, (), (), ())


def test_the_fences_of_writers_rise(hf: Holdfast) -> None:
    lock, page = hf.rw_lock("index"), hf.fenced("page")
    fences = []
    for n in range(10):
        with lock.write() as lease:
            fences.append(lease.fence)
            page.set(n, lease.fence)
        with lock.read(), lock.read():
            pass
    assert fences == sorted(set(fences))
    with pytest.raises(StaleFence):
        page.set("old", fences[0])


def test_fences_rise_when_the_server_forgot_everything(hf: Holdfast, site: Site) -> None:
    with hf.rw_lock("l").write() as lease:
        fence = lease.fence
    for key in site.client.scan_iter(match=f"{site.namespace}:*"):
        site.client.delete(key)
    with hf.rw_lock("l").write() as lease:
        assert lease.fence > fence


@pytest.mark.parametrize("mode", ["read", "write"])
def test_a_lost_lease_is_noticed(hf: Holdfast, site: Site, mode: str) -> None:
    lock = hf.rw_lock("l")
    lease = lock.acquire_read() if mode == "read" else lock.acquire_write()
    site.client.delete(f"{site.namespace}:{{rw_lock:l}}:holders")
    with pytest.raises(LeaseLost):
        lease.renew()
    assert lease.lost


def test_a_holder_that_does_not_renew_loses_it(hf: Holdfast) -> None:
    """To the next one that waits, of either mode."""
    lock, careless = hf.rw_lock("l"), hf.rw_lock("l", lease=1.0, auto_renew=False)
    for take in (careless.acquire_read, careless.acquire_write):
        lease = take()
        with lock.write(timeout=30):
            assert lease.lost
        with pytest.raises(LeaseLost):
            lease.release()


def test_a_lease_is_released_once(hf: Holdfast) -> None:
    lock = hf.rw_lock("l")
    first = lock.acquire_write()
    first.release()
    second = lock.acquire_write()
    first.release()
    writer = (lock.inspect()).writer
    assert writer is not None
    assert writer.name == second.holder
    second.release()


def test_it_is_another_lock_than_that_of_the_same_name(hf: Holdfast) -> None:
    with hf.lock("l").hold(), hf.rw_lock("l").write(timeout=0):
        pass


def test_locks_in_use_are_listed(hf: Holdfast) -> None:
    lock = hf.rw_lock("used")
    with lock.read() as lease:
        lease.renew()
        while "used" not in (found := hf.rw_locks()):
            lease.wait_lost(0.05)
        assert [reader.name for reader in found["used"].readers] == [lease.holder]
    assert hf.rw_locks() == {}


def test_methods_of_other_locks_are_explained(hf: Holdfast) -> None:
    lock = hf.rw_lock("l")
    for name in ("hold", "acquire", "release", "upgrade"):
        with pytest.raises(AttributeError, match=r"read|write"):
            getattr(lock, name)
    with pytest.raises(TypeError, match="lease="):
        hf.rw_lock("l", timeout=3)  # type: ignore[arg-type]
