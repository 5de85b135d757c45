"""Reader-writer locks in one client."""

import pytest

from conftest import Site
from holdfast import AsyncHoldfast, LeaseLost, LockTimeout, RwLockState, StaleFence


async def test_readers_share_it_and_a_writer_has_it_alone(hf: AsyncHoldfast) -> None:
    lock = hf.rw_lock("index", lease=60.0)
    async with lock.read() as one, lock.read() as two:
        assert await lock.try_write() is None
        state = await lock.inspect()
        assert {reader.name for reader in state.readers} == {one.holder, two.holder}
        assert (state.writer, state.fence) == (None, None)
    async with lock.write(timeout=30) as lease:
        assert await lock.try_read() is None
        assert await lock.try_write() is None
        state = await lock.inspect()
        assert state.writer is not None
        assert (state.writer.name, state.fence, state.readers) == (lease.holder, lease.fence, ())
        with pytest.raises(LockTimeout, match="rw_lock 'index' was not free") as caught:
            await lock.acquire_read(timeout=0.1)
        assert caught.value.holder == lease.holder
    assert await lock.inspect() == RwLockState(None, None, (), (), ())


async def test_the_fences_of_writers_rise(hf: AsyncHoldfast) -> None:
    lock, page = hf.rw_lock("index"), hf.fenced("page")
    fences = []
    for n in range(10):
        async with lock.write() as lease:
            fences.append(lease.fence)
            await page.set(n, lease.fence)
        async with lock.read(), lock.read():
            pass
    assert fences == sorted(set(fences))
    with pytest.raises(StaleFence):
        await page.set("old", fences[0])


async def test_fences_rise_when_the_server_forgot_everything(hf: AsyncHoldfast, site: Site) -> None:
    async with hf.rw_lock("l").write() as lease:
        fence = lease.fence
    for key in site.client.scan_iter(match=f"{site.namespace}:*"):
        site.client.delete(key)
    async with hf.rw_lock("l").write() as lease:
        assert lease.fence > fence


@pytest.mark.parametrize("mode", ["read", "write"])
async def test_a_lost_lease_is_noticed(hf: AsyncHoldfast, site: Site, mode: str) -> None:
    lock = hf.rw_lock("l")
    lease = await (lock.acquire_read() if mode == "read" else lock.acquire_write())
    site.client.delete(f"{site.namespace}:{{rw_lock:l}}:holders")
    with pytest.raises(LeaseLost):
        await lease.renew()
    assert lease.lost


async def test_a_holder_that_does_not_renew_loses_it(hf: AsyncHoldfast) -> None:
    """To the next one that waits, of either mode."""
    lock, careless = hf.rw_lock("l"), hf.rw_lock("l", lease=1.0, auto_renew=False)
    for take in (careless.acquire_read, careless.acquire_write):
        lease = await take()
        async with lock.write(timeout=30):
            assert lease.lost
        with pytest.raises(LeaseLost):
            await lease.release()


async def test_a_lease_is_released_once(hf: AsyncHoldfast) -> None:
    lock = hf.rw_lock("l")
    first = await lock.acquire_write()
    await first.release()
    second = await lock.acquire_write()
    await first.release()
    writer = (await lock.inspect()).writer
    assert writer is not None
    assert writer.name == second.holder
    await second.release()


async def test_it_is_another_lock_than_that_of_the_same_name(hf: AsyncHoldfast) -> None:
    async with hf.lock("l").hold(), hf.rw_lock("l").write(timeout=0):
        pass


async def test_locks_in_use_are_listed(hf: AsyncHoldfast) -> None:
    lock = hf.rw_lock("used")
    async with lock.read() as lease:
        await lease.renew()
        while "used" not in (found := await hf.rw_locks()):
            await lease.wait_lost(0.05)
        assert [reader.name for reader in found["used"].readers] == [lease.holder]
    assert await hf.rw_locks() == {}


async def test_methods_of_other_locks_are_explained(hf: AsyncHoldfast) -> None:
    lock = hf.rw_lock("l")
    for name in ("hold", "acquire", "release", "upgrade"):
        with pytest.raises(AttributeError, match=r"read|write"):
            getattr(lock, name)
    with pytest.raises(TypeError, match="lease="):
        hf.rw_lock("l", timeout=3)  # type: ignore[arg-type]
