"""Locks on a server that loses its data, is unavailable or full, or has a stepping clock."""

import secrets
import threading
from collections.abc import Callable, Iterator

import pytest

from faults.servers import Server
from faults.waiting import eventually, eventually_grows
from holdfast import Holdfast, Lease, LeaseLost, LockTimeout, ServerRefused, StaleFence


def renewed(lease: Lease) -> None:
    """Wait until *lease* is renewed: then more of it is left than before."""
    eventually_grows(lambda: lease.remaining, reason="the lease is renewed")


def overtaken(hf: Holdfast, forget: Callable[[], object]) -> None:
    """Check that a holder cannot write after *forget* makes the server grant its lock again."""
    lease = hf.lock("l", lease=2.0).acquire()
    hf.fenced("stock").set("old", lease.fence)
    forget()
    with hf.lock("l", lease=60.0).hold(timeout=60) as successor:
        assert successor.fence > lease.fence
        hf.fenced("stock").set("new", successor.fence)
        with pytest.raises(StaleFence):
            hf.fenced("stock").set("late", lease.fence)
        assert lease.wait_lost(30)
        assert hf.fenced("stock").get() == "new"
    with pytest.raises(LeaseLost):
        lease.release()


@pytest.fixture
def hf(fresh_server: Server) -> Iterator[Holdfast]:
    namespace = f"forget-{secrets.token_hex(4)}"
    with Holdfast.from_url(fresh_server.url, namespace=namespace) as hf:
        yield hf


def test_flushall(hf: Holdfast, fresh_server: Server) -> None:
    overtaken(hf, lambda: fresh_server.execute("FLUSHALL"))


def test_flushall_under_a_waiter(hf: Holdfast, fresh_server: Server) -> None:
    """The waiter gets its permit although the server has lost the wait queue."""
    lease = hf.lock("l", lease=6.0).acquire()
    with Holdfast.from_url(fresh_server.url, namespace=hf.namespace) as other:
        successors: list[object] = []
        thread = threading.Thread(
            target=lambda: successors.append(other.lock("l").acquire(timeout=60))
        )
        thread.start()
        eventually(lambda: len(hf.lock("l").inspect().waiters) == 1)
        fresh_server.execute("FLUSHALL")
        thread.join()
        assert successors[0].fence > lease.fence
        successors[0].release()
    assert lease.wait_lost(30)
    with pytest.raises(LeaseLost):
        lease.release()


def test_scripts_that_the_server_forgot(hf: Holdfast, fresh_server: Server) -> None:
    lease = hf.lock("l", lease=6.0).acquire()
    fresh_server.execute("SCRIPT", "FLUSH")
    renewed(lease)
    fresh_server.execute("SCRIPT", "FLUSH")
    lease.release()


def test_a_restart_in_the_middle_of_a_lease(hf: Holdfast, fresh_server: Server) -> None:
    lease = hf.lock("l", lease=10.0).acquire()
    fresh_server.kill()
    fresh_server.start()
    renewed(lease)
    assert hf.lock("l").inspect().holder == lease.holder
    lease.release()


def test_an_outage_longer_than_the_lease_is_reported(hf: Holdfast, fresh_server: Server) -> None:
    lease = hf.lock("l", lease=1.0).acquire()
    fresh_server.pause()
    assert lease.wait_lost(30)
    fresh_server.resume()
    with pytest.raises(LeaseLost):
        lease.release()


def step_clock(server: Server, namespace: str, seconds: float) -> None:
    """Simulate a step of the server's clock: move the stored times the other way."""
    with server.client() as client:
        state, holders = (f"{namespace}:{{lock:l}}:{key}" for key in ("state", "holders"))
        if ends_ms := client.hget(state, "ends_ms"):
            client.hset(state, "ends_ms", int(ends_ms) - int(seconds * 1000))
        for member, ends_ms in client.zrange(holders, 0, -1, withscores=True):
            client.zadd(holders, {member: ends_ms - seconds * 1000})


def test_a_clock_that_steps_forward(hf: Holdfast, fresh_server: Server) -> None:
    """The lease ends for the server long before its holder knows: both hold, one can write."""
    overtaken(hf, lambda: step_clock(fresh_server, hf.namespace, 3600))


def test_a_clock_that_steps_back(hf: Holdfast, fresh_server: Server) -> None:
    """A living holder renews and releases as usual; a crashed one would keep its permit longer."""
    lease = hf.lock("l", lease=6.0).acquire()
    step_clock(fresh_server, hf.namespace, -3600)
    renewed(lease)
    with pytest.raises(LockTimeout):
        hf.lock("l").acquire(timeout=0.5)
    lease.release()
    with hf.lock("l").hold(timeout=0) as successor:
        assert successor.fence > lease.fence


def test_a_full_server(hf: Holdfast, fresh_server: Server) -> None:
    lease = hf.lock("l", lease=6.0).acquire()
    successors: list[object] = []
    thread = threading.Thread(target=lambda: successors.append(hf.lock("l").acquire(timeout=60)))
    thread.start()
    eventually(lambda: len(hf.lock("l").inspect().waiters) == 1)
    with fresh_server.client() as client:
        client.config_set("maxmemory", 1)
        client.config_set("maxmemory-policy", "noeviction")
        with pytest.raises(ServerRefused, match="locks/acquire on lock 'other'"):
            hf.lock("other").acquire()
        renewed(lease)
        lease.release()
        thread.join()
        successors[0].release()
        client.config_set("maxmemory", 0)
    with hf.lock("other").hold(timeout=0):
        pass
