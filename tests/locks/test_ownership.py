"""Owners of leases that fork, exit, forget them, block the event loop, or close the client."""

import asyncio
import gc
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from faults.processes import Process
from faults.servers import Server
from faults.waiting import eventually, eventually_async, eventually_grows
from holdfast import AsyncHoldfast, AsyncLease, Holdfast, Lease, LeaseLost


@pytest.fixture
def hf(standalone: Server, request: pytest.FixtureRequest) -> Iterator[Holdfast]:
    namespace = f"own-{os.getpid()}-{time.monotonic_ns()}"
    with Holdfast.from_url(standalone.url, namespace=namespace) as hf:
        yield hf


def renewed(lease: Lease | AsyncLease) -> None:
    """Wait until *lease* is renewed: then more of it is left than before."""
    eventually_grows(lambda: lease.remaining, reason="the lease is renewed")


@pytest.mark.filterwarnings("ignore:.*multi-threaded.*:DeprecationWarning")
def test_a_forked_child_owns_nothing(hf: Holdfast) -> None:
    """The child neither renews nor releases the lease, and reports it as lost."""
    lock = hf.lock("l", lease=6.0)
    lease = lock.acquire()
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            assert lease.lost
            assert lease.remaining == 0
            with pytest.raises(LeaseLost, match="forked"):
                lease.release()
            assert lock.try_acquire() is None
            own = hf.lock("child", lease=6.0).acquire()
            assert f":{os.getpid()}:" in own.holder
            renewed(own)  # by the child's own renewer
            own.release()
            del lease
            gc.collect()
            code = 0
        except BaseException as error:  # noqa: BLE001 (the child must never return)
            os.write(2, repr(error).encode())
        finally:
            os._exit(code)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
    renewed(lease)
    assert lock.inspect().holder == lease.holder
    lease.release()


@pytest.mark.parametrize("half", ["Holdfast", "AsyncHoldfast"])
def test_a_holder_that_exits_leaves_a_lease_that_ends(
    hf: Holdfast, standalone: Server, half: str
) -> None:
    """A `with` releases its permit; a lease without a block ends by itself; nothing hangs."""
    program = f"""
import asyncio, sys
from holdfast import {half}
hf = {half}.from_url({standalone.url!r}, namespace={hf.namespace!r})
async def main():
    a = hf.lock("acquired", lease=1.0).acquire()
    b = hf.lock("held", lease=60.0).hold()
    if {half!r} == "AsyncHoldfast":
        a = await a
        async with b:
            sys.exit(3)
    else:
        with b:
            sys.exit(3)
asyncio.run(main())
"""
    with Process.python("-c", program) as process:
        assert process.wait(60) == 3
    assert hf.lock("held").inspect().holder is None
    hf.lock("acquired").acquire(timeout=30).release()


def test_a_forgotten_lease_is_not_renewed(hf: Holdfast) -> None:
    lock = hf.lock("l", lease=2.0)
    kept = [lock.acquire()]
    with pytest.warns(ResourceWarning, match=r"held lease of lock 'l'.* was never released"):
        kept.clear()
    lock.acquire(timeout=30).release()


def test_a_lease_may_be_released_by_another_thread(hf: Holdfast) -> None:
    lock = hf.lock("l")
    lease = lock.acquire()
    thread = threading.Thread(target=lease.release)
    thread.start()
    thread.join()
    assert lock.inspect().holder is None


async def test_a_blocked_event_loop_loses_nothing(standalone: Server) -> None:
    async with (
        AsyncHoldfast.from_url(standalone.url, namespace="blocked") as hf,
        hf.lock("l", lease=6.0).hold() as lease,
    ):
        renewed(lease)  # blocks the event loop
        assert (await hf.lock("l").inspect()).holder == lease.holder


async def test_a_lost_lease_cancels_the_body(standalone: Server) -> None:
    async with AsyncHoldfast.from_url(standalone.url, namespace="cancelled") as hf:
        seen: list[type] = []

        async def hold() -> None:
            async with hf.lock("l", lease=1.0).hold():
                standalone.execute("DEL", "cancelled:{lock:l}:state")
                try:
                    await asyncio.sleep(30)
                except BaseException as error:
                    seen.append(type(error))
                    raise

        with pytest.raises(LeaseLost, match="lock 'l' was lost"):
            await hold()
        assert seen == [asyncio.CancelledError]
        assert asyncio.current_task().cancelling() == 0


async def test_callbacks_run_in_the_loop(standalone: Server) -> None:
    async with AsyncHoldfast.from_url(standalone.url, namespace="callbacks") as hf:
        lease = await hf.lock("l", lease=1.0, auto_renew=False).acquire()
        threads: list[threading.Thread] = []
        lease.on_lost(lambda: threads.append(threading.current_thread()))
        assert await lease.wait_lost(30)
        lease.on_lost(lambda: threads.append(threading.current_thread()))
        await eventually_async(lambda: len(threads) == 2)
        assert threads == [threading.main_thread()] * 2
        with pytest.raises(LeaseLost):
            await lease.release()


def test_callbacks_of_the_blocking_half_run_in_tsuccessor_own_threads(hf: Holdfast) -> None:
    lease = hf.lock("l", lease=1.0, auto_renew=False).acquire()
    other = hf.lock("other", lease=6.0).acquire()
    names: list[str] = []
    over = threading.Event()

    def slow() -> None:
        names.append(threading.current_thread().name)
        over.wait(60)

    lease.on_lost(slow)
    assert lease.wait_lost(30)
    eventually(lambda: names == ["holdfast callback"])
    renewed(other)
    over.set()
    other.release()
    with pytest.raises(LeaseLost):
        lease.release()


async def test_a_release_ends_wait_lost(standalone: Server) -> None:
    async with AsyncHoldfast.from_url(standalone.url, namespace="watched") as hf:
        lease = await hf.lock("l").acquire()
        watcher = asyncio.create_task(lease.wait_lost())
        await asyncio.sleep(0.1)
        await lease.release()
        assert await asyncio.wait_for(watcher, 30) is False
        assert await lease.wait_lost() is False


def test_a_release_ends_wait_lost_in_several_threads(hf: Holdfast) -> None:
    lease = hf.lock("l").acquire()
    lost: list[bool] = []
    watchers = [
        threading.Thread(daemon=True, target=lambda: lost.append(lease.wait_lost()))
        for _ in range(3)
    ]
    for watcher in watchers:
        watcher.start()
    lease.release()
    for watcher in watchers:
        watcher.join(30)
    assert lost == [False] * 3


def test_a_callback_that_cannot_be_started_does_not_affect_other_leases(
    hf: Holdfast, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    start = threading.Thread.start

    def refused(thread: threading.Thread) -> None:
        if thread.name == "holdfast callback":
            raise RuntimeError("can't start new thread")
        start(thread)

    monkeypatch.setattr(threading.Thread, "start", refused)
    other = hf.lock("other", lease=6.0).acquire()
    lease = hf.lock("l", lease=6.0, max_hold=1.5).acquire()
    lease.on_lost(lambda: None)
    watched: list[bool] = []
    watcher = threading.Thread(target=lambda: watched.append(lease.wait_lost()), daemon=True)
    watcher.start()
    watcher.join(30)
    assert watched == [True]
    renewed(other)
    assert "can't start new thread" in caplog.text
    other.release()
    with pytest.raises(LeaseLost):
        lease.release()


def test_a_loss_is_reported_before_the_server_grants_the_permit_again(
    hf: Holdfast, standalone: Server
) -> None:
    lock = hf.lock("l", lease=1.0, auto_renew=False)
    for _ in range(3):
        lease = lock.acquire()
        reported: list[float] = []
        lease.on_lost(lambda reported=reported: reported.append(time.monotonic()))
        with hf.lock("l", lease=60.0).hold(timeout=30):
            assert lease.lost
            eventually(lambda reported=reported: bool(reported))
        with pytest.raises(LeaseLost):
            lease.release()


@pytest.fixture
def suspend(monkeypatch: pytest.MonkeyPatch) -> Callable[[float], None]:
    """Simulate a suspended machine: its monotonic clock stops, the clock since boot goes on."""
    if sys.platform != "linux":
        pytest.skip("only Linux has two clocks")
    slept_s = 0.0
    clock_gettime = time.clock_gettime

    def sleep(seconds: float) -> None:
        nonlocal slept_s
        slept_s += seconds

    def awake(clock: int) -> float:
        return clock_gettime(clock) + (slept_s if clock == time.CLOCK_BOOTTIME else 0)

    monkeypatch.setattr(time, "clock_gettime", awake)
    return sleep


def test_a_lease_is_lost_while_the_machine_is_suspended(
    hf: Holdfast, suspend: Callable[[float], None]
) -> None:
    lease = hf.lock("l", lease=60.0).acquire()
    assert lease.remaining > 50
    suspend(30)
    assert not lease.lost
    assert lease.remaining < 31
    suspend(30)
    assert lease.lost
    other = hf.lock("other", lease=60.0).acquire()
    reported = threading.Event()
    other.on_lost(reported.set)
    suspend(60)
    assert reported.wait(30)
    for lost in (lease, other):
        with pytest.raises(LeaseLost):
            lost.release()


def test_a_waiter_on_a_suspended_machine_does_not_use_an_expired_claim(
    hf: Holdfast, suspend: Callable[[float], None]
) -> None:
    holding = hf.lock("l", lease=60.0).acquire()
    with ThreadPoolExecutor() as threads:
        successor = threads.submit(hf.lock("l", lease=60.0).acquire, timeout=60)
        eventually(lambda: len(hf.lock("l").inspect().waiters) == 1)
        suspend(30)
        holding.release()
        lease = successor.result()
    assert lease.remaining > 31
    lease.release()


def test_a_closed_client_renews_nothing(standalone: Server) -> None:
    hf = Holdfast.from_url(standalone.url, namespace="closed")
    lease = hf.lock("l", lease=1.0).acquire()
    events: list[str] = []
    lease.on_lost(lambda: events.append("called"))
    watcher = threading.Thread(target=lambda: events.append(f"waited {lease.wait_lost()}"))
    watcher.daemon = True
    watcher.start()
    hf.close()
    watcher.join(30)
    eventually(lambda: sorted(events) == ["called", "waited True"])
    with Holdfast.from_url(standalone.url, namespace="closed") as other:
        other.lock("l").acquire(timeout=30).release()
    assert lease.lost


async def test_closing_the_client_cancels_the_body_of_hold(standalone: Server) -> None:
    hf = AsyncHoldfast.from_url(standalone.url, namespace="closed body")

    async def hold() -> None:
        async with hf.lock("l", lease=60.0).hold():
            await asyncio.sleep(60)

    holding = asyncio.create_task(hold())
    await eventually_async(lambda: is_held(hf))
    await hf.close()
    with pytest.raises(LeaseLost):
        await asyncio.wait_for(holding, 30)


async def is_held(hf: AsyncHoldfast) -> bool:
    return (await hf.lock("l").inspect()).holder is not None


def test_a_callback_that_would_do_nothing_is_refused(hf: Holdfast) -> None:
    async def never_awaited() -> None:
        """Do nothing."""

    with hf.lock("report").hold() as lease:
        for wrong in (never_awaited, None, 5):
            with pytest.raises(TypeError, match="the callback must be a function"):
                lease.on_lost(wrong)  # type: ignore[arg-type]
