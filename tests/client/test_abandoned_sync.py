# Generated from test_abandoned_async.py by tools/unasync.py: edit that, then run `make sync`.
"""A client that is collected without `close` leaves no connection and no thread."""

import gc
import io
import threading
import warnings
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from client._sync.uses import Rows, work
from faults.proxy import Proxy
from faults.waiting import eventually
from holdfast import Holdfast, ResultTimeout
from holdfast.core.concurrency._sync.primitives import sleep

pytestmark = pytest.mark.filterwarnings("ignore:a client of:ResourceWarning")


def renew(hf: Holdfast) -> Any:
    with hf.lock("l", lease=1.0).hold():
        sleep(1.2)


def wait_for_a_lock(hf: Holdfast) -> Any:
    with hf.lock("l").hold():
        assert hf.lock("l").try_acquire() is None
        with pytest.raises(TimeoutError):
            hf.lock("l").acquire(timeout=0.1)


def wait_for_mail(hf: Holdfast) -> Any:
    hf.mailbox("jack").fetch(timeout=0.1)
    hf.inbox("jack").fetch(timeout=0.1)


def wait_for_a_result(hf: Holdfast) -> Any:
    with pytest.raises(ResultTimeout):
        (hf.enqueue(work.call(1))).result(timeout=0.1)


def read_files(hf: Holdfast) -> Any:
    feed = hf.file_feed("logs", consumers=["geo"])
    feed.publish(io.BytesIO(b"line\n"), name="a.log")
    for file in feed.consumer("geo").files(timeout=0.1):
        with file:
            pass


def read_rows(hf: Holdfast) -> Any:
    cache = hf.row_cache("stock", source=Rows())
    cache.schedule(1, every=60.0)
    cache.get(2)


def buffer(hf: Holdfast) -> Any:
    counts = hf.counter_buffer(flush_every=0.05)
    counts.add("hits", 3)


USES: dict[str, Callable[[Holdfast], Awaitable[Any]]] = {
    each.__name__: each
    for each in (
        renew,
        wait_for_a_lock,
        wait_for_mail,
        wait_for_a_result,
        read_files,
        read_rows,
        buffer,
    )
}


def collected() -> bool:
    """Collect garbage, and be true."""
    gc.collect()
    return True


def threads() -> set[threading.Thread]:
    return {each for each in threading.enumerate() if each.name.startswith("holdfast")}


@pytest.mark.parametrize("use", USES)
def test_a_forgotten_client_leaves_nothing(proxy: Proxy, use: str) -> None:
    """Its connections are closed and its threads end, also if it waited or held something."""
    before = threads()
    hf = Holdfast.from_url(proxy.url, namespace="forgotten")
    USES[use](hf)
    del hf
    eventually(
        lambda: (
            collected() and proxy.connections and not proxy.open_connections and threads() <= before
        )
    )
    if use == "buffer":
        with Holdfast.from_url(proxy.url, namespace="forgotten") as other:
            assert other.counter("hits").total(3600) % 3 == 0
            assert other.counter("hits").total(3600)


def test_what_a_client_made_keeps_it(proxy: Proxy) -> None:
    """A chain of calls needs no name for the client."""
    queue = Holdfast.from_url(proxy.url, namespace="forgotten").queue("kept")
    lock = Holdfast.from_url(proxy.url, namespace="forgotten").lock("kept")
    gc.collect()
    assert (queue.stats()).ready == 0
    with lock.hold() as lease:
        gc.collect()
        assert not lease.lost
    del queue, lock, lease
    eventually(lambda: collected() and not proxy.open_connections)


def test_it_warns_as_a_file_does(proxy: Proxy) -> None:
    """Which Python shows where it was asked to; a client that was never used has nothing open."""
    hf = Holdfast.from_url(proxy.url, namespace="forgotten")
    unused = Holdfast.from_url(proxy.url, namespace="forgotten")
    hf.queues()
    gc.collect()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", ResourceWarning)
        del hf, unused
        gc.collect()
    found = [str(each.message) for each in caught if "never closed" in str(each.message)]
    assert len(found) == 1
    assert f"127.0.0.1:{proxy.port}" in found[0] or "localhost" in found[0]
    eventually(lambda: not proxy.open_connections)
