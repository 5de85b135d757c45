"""Duplicates at one moment, waiting for the first, killed callers, and lost replies."""

import secrets
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from conftest import Site
from faults.halves import Half
from faults.processes import Process
from faults.proxy import Proxy
from faults.servers import Server
from faults.waiting import eventually
from holdfast import Holdfast
from holdfast.core.script import Script
from holdfast.idempotency._sync.call import FINISH, RELEASE
from holdfast.idempotency._sync.store import BEGIN

BODY = b"body"

HOLDER = """
import sys, time
from holdfast import Holdfast

url, namespace = sys.argv[1:]
with Holdfast.from_url(url, namespace=namespace) as hf:
    call = hf.idempotency("payments", lease=4.0).begin("order-17", b"body")
    print(call.state, flush=True)
    time.sleep(3600)
"""


def test_of_many_callers_one_begins_and_all_get_its_answer(site: Site) -> None:
    """Those that wait are notified; two clients have connections of their own, as processes."""
    begun: list[str] = []

    def call(hf: Holdfast, number: int) -> bytes | None:
        found = hf.idempotency("payments").begin("order-17", BODY, wait=60)
        if found.state == "begun":
            begun.append(f"answer {number}")
            release.wait(0.3)
            assert found.finish(f"answer {number}".encode())
            return f"answer {number}".encode()
        return found.answer

    release = threading.Event()
    with (
        Holdfast.from_url(site.url, namespace=site.namespace) as one,
        Holdfast.from_url(site.url, namespace=site.namespace) as other,
        ThreadPoolExecutor(24) as threads,
    ):
        answers = set(threads.map(lambda n: call((one, other)[n % 2], n), range(24)))
    assert len(begun) == 1
    assert answers == {begun[0].encode()}


@pytest.mark.parametrize("how", ["released", "forgotten"])
def test_a_waiter_takes_over_a_free_key(site: Site, how: str) -> None:
    with Holdfast.from_url(site.url, namespace=site.namespace) as hf, ThreadPoolExecutor() as pool:
        store = hf.idempotency("payments")
        first = store.begin("order-17", BODY)
        waiting = pool.submit(store.begin, "order-17", BODY, wait=60)
        assert store.begin("order-17", BODY, wait=0.2).state == "running"
        assert first.release() if how == "released" else store.forget("order-17")
        assert waiting.result(30).state == "begun"


def test_the_key_of_a_killed_process_is_free_when_its_lease_ends(site: Site) -> None:
    with Holdfast.from_url(site.url, namespace=site.namespace) as hf:
        store = hf.idempotency("payments")
        with Process.python("-c", HOLDER, site.url, site.namespace) as holder:
            eventually(lambda: "begun" in holder.output)
            assert store.begin("order-17", BODY, wait=5).state == "running"  # it is renewed
            holder.kill()
        assert store.begin("order-17", BODY, wait=30).state == "begun"


@pytest.fixture
def direct(standalone: Server) -> Iterator[Holdfast]:
    """Return a client that does not use the proxy, and has loaded the scripts."""
    with Holdfast.from_url(standalone.url, namespace=f"lost-{secrets.token_hex(4)}") as hf:
        for key in ("a", "b"):
            with hf.idempotency("warm").begin(key, BODY) as call:
                if key == "a":
                    call.finish(b"")
        yield hf


@pytest.mark.parametrize("loss", ["drop_reply", "drop_request"])
def test_a_lost_call_is_repeated(half: Half, proxy: Proxy, direct: Holdfast, loss: str) -> None:
    """Each of them has one effect."""
    store = half.client(proxy.url, direct.namespace).idempotency("payments")

    def lose(script: Script, do: Callable[[], Any]) -> Any:
        fault = getattr(proxy, loss)(match=script.sha1.encode())
        found = half.do(do())
        assert fault.fired == 1
        return found

    call = lose(BEGIN, lambda: store.begin("order-17", BODY))
    assert call.state == "begun"
    lose(RELEASE, call.release)
    call = half.do(store.begin("order-17", BODY))
    assert call.state == "begun"
    assert lose(FINISH, lambda: call.finish(b"paid"))
    assert direct.idempotency("payments").begin("order-17", BODY).answer == b"paid"
