"""Lost requests and replies at each script: grants are repeated, and nothing is left behind."""

import asyncio
import secrets
import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest

from faults.halves import Half
from faults.proxy import Proxy
from faults.servers import Server
from faults.waiting import eventually, eventually_async, eventually_grows
from holdfast import AsyncHoldfast, Holdfast
from holdfast.locks._async import acquisition
from holdfast.locks.permit_scripts import ACQUIRE, RELEASE, RENEW

LOSSES = ["drop_reply", "drop_request"]


@pytest.fixture
def direct(standalone: Server) -> Iterator[Holdfast]:
    """Return a client that does not use the proxy, and has loaded the scripts."""
    namespace = f"lost-{secrets.token_hex(4)}"
    with Holdfast.from_url(standalone.url, namespace=namespace) as hf:
        lease = hf.semaphore("warm", limit=1).acquire()
        lease.renew()
        lease.release()
        hf.semaphore("warm").redefine(limit=2)
        hf.fenced("warm").set(1, 1)
        yield hf


def is_free(hf: Holdfast, name: str = "l") -> bool:
    state = hf.lock(name).inspect()
    return (state.holder, state.waiters) == (None, ())


@pytest.mark.parametrize("known", [False, True])
@pytest.mark.parametrize("loss", LOSSES)
def test_a_lost_acquire_is_repeated(
    half: Half, proxy: Proxy, direct: Holdfast, loss: str, known: bool
) -> None:
    """The repeated call gets the permit that was granted: it does not wait for itself.

    The first call of a client resolves the route; later calls use the fast path.
    """
    hf = half.client(proxy.url, direct.namespace)
    lock = hf.lock("l", lease=60.0)
    if known:
        half.do(half.do(hf.lock("other").acquire()).release())
    fault = getattr(proxy, loss)(match=ACQUIRE.sha1.encode())
    lease = half.do(lock.acquire(timeout=60))
    assert fault.fired == 1
    state = direct.lock("l").inspect()
    assert (state.holder, state.fence) == (lease.holder, lease.fence)
    half.do(lease.release())
    assert is_free(direct)


@pytest.mark.parametrize("loss", LOSSES)
def test_a_lost_enqueue_is_repeated(half: Half, proxy: Proxy, direct: Holdfast, loss: str) -> None:
    lock = half.client(proxy.url, direct.namespace).lock("l")
    holding = direct.lock("l").acquire()
    half.do(lock.try_acquire())
    fault = getattr(proxy, loss)(2, match=ACQUIRE.sha1.encode())

    def release() -> None:
        eventually(lambda: direct.lock("l").inspect().waiters)
        holding.release()

    thread = threading.Thread(target=release)
    thread.start()
    lease = half.do(lock.acquire(timeout=60))
    thread.join()
    assert fault.fired == 1
    assert direct.lock("l").inspect().waiters == ()
    half.do(lease.release())
    assert is_free(direct)


@pytest.mark.parametrize("loss", LOSSES)
def test_a_lost_release_is_repeated(half: Half, proxy: Proxy, direct: Holdfast, loss: str) -> None:
    lock = half.client(proxy.url, direct.namespace).lock("l")
    lease = half.do(lock.acquire())
    fault = getattr(proxy, loss)(match=RELEASE.sha1.encode())
    half.do(lease.release())
    assert fault.fired == 1
    assert is_free(direct)


@pytest.mark.parametrize("loss", LOSSES)
def test_a_repeated_release_does_not_take_the_permit_of_the_successor(
    half: Half, proxy: Proxy, direct: Holdfast, loss: str
) -> None:
    lock = half.client(proxy.url, direct.namespace).lock("l")
    lease = half.do(lock.acquire())
    successors: list[Any] = []

    def wait() -> None:
        successor = direct.lock("l").acquire(timeout=60)
        successor.renew()  # so that it outlives its claim
        successors.append(successor)

    waiting = threading.Thread(target=wait)
    waiting.start()
    eventually(lambda: len(direct.lock("l").inspect().waiters) == 1)
    getattr(proxy, loss)(match=RELEASE.sha1.encode())
    half.do(lease.release())
    waiting.join()
    [successor] = successors
    assert direct.lock("l").inspect().holder == successor.holder
    assert not successor.lost
    successor.release()
    assert is_free(direct)


def test_lost_renewals_are_repeated(half: Half, proxy: Proxy, direct: Holdfast) -> None:
    lock = half.client(proxy.url, direct.namespace).lock("l", lease=6.0)
    lease = half.do(lock.acquire())
    fault = proxy.drop_replies(2, match=RENEW.sha1.encode())
    eventually_grows(lambda: lease.remaining, reason="it is renewed")
    assert fault.fired == 2
    half.do(lease.release())


async def test_a_lost_reply_with_a_message_for_a_local_waiter(
    proxy: Proxy, direct: Holdfast, standalone: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(acquisition, "CHECK_EVERY_S", 300.0)
    holding = direct.semaphore("s", limit=1, lease=600.0).acquire()
    async with AsyncHoldfast.from_url(proxy.url, namespace=direct.namespace) as hf:
        semaphore = hf.semaphore("s")
        waiter = asyncio.create_task(semaphore.acquire(timeout=90))
        await eventually_async(lambda: len(direct.semaphore("s").inspect().waiters) == 1)
        standalone.execute("HSET", f"{hf.namespace}:{{semaphore:s}}:state", "limit", 2)
        fault = proxy.drop_reply(match=ACQUIRE.sha1.encode())
        assert await semaphore.try_acquire() is None
        assert fault.fired == 1
        await (await asyncio.wait_for(waiter, 60)).release()
    holding.release()


def test_a_late_copy_of_an_acquire_takes_no_permit(
    half: Half, proxy: Proxy, direct: Holdfast, standalone: Server
) -> None:
    lock = half.client(proxy.url, direct.namespace).lock("l")
    proxy.drop_reply(match=ACQUIRE.sha1.encode())
    lease = half.do(lock.acquire())
    half.do(lease.release())
    permits = direct.lock("l")._permits
    reply = permits.acquire(lease.holder, "", repeated=False)
    assert reply[0] == b"ended"
    assert is_free(direct)


def test_a_lost_notification_costs_a_second(half: Half, proxy: Proxy, direct: Holdfast) -> None:
    """The waiter checks by itself before its claim ends."""
    hf = half.client(proxy.url, direct.namespace)
    holding = direct.lock("l", lease=600.0).acquire()

    def release() -> None:
        eventually(lambda: len(direct.lock("l").inspect().waiters) == 1)
        time.sleep(0.3)
        proxy.drop_pushes(1)
        holding.release()

    thread = threading.Thread(target=release)
    thread.start()
    lease = half.do(hf.lock("l").acquire(timeout=60))
    thread.join()
    half.do(lease.release())
    assert is_free(direct)


def test_a_waiter_that_lost_its_subscription_is_served(
    half: Half, proxy: Proxy, direct: Holdfast, standalone: Server
) -> None:
    """It was removed from the wait queue, and gets its ticket back once it has subscribed again."""
    hf = half.client(proxy.url, direct.namespace)
    holding = direct.lock("l", lease=600.0).acquire()

    def release() -> None:
        eventually(lambda: len(direct.lock("l").inspect().waiters) == 1)
        standalone.execute("CLIENT", "KILL", "TYPE", "pubsub")
        holding.release()

    thread = threading.Thread(target=release)
    thread.start()
    lease = half.do(hf.lock("l").acquire(timeout=60))
    thread.join()
    half.do(lease.release())
    assert is_free(direct)
