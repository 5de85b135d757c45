"""Without the server, functions are called without their cache; lost replies do no harm."""

import asyncio
import secrets
import time
from collections.abc import Iterator
from typing import Any

import pytest

from faults.halves import Half
from faults.proxy import Proxy
from faults.servers import Server
from faults.waiting import eventually
from holdfast import AsyncHoldfast, Holdfast, ServerUnavailable
from holdfast.cache._sync.value_store import CLAIM, COMMIT, INVALIDATE, RAISE
from holdfast.cache.outage import ServerOutage


@pytest.fixture
def direct(standalone: Server) -> Iterator[Holdfast]:
    """Return a client that does not use the proxy, and has loaded the scripts."""
    with Holdfast.from_url(standalone.url, namespace=f"cache-{secrets.token_hex(4)}") as hf:
        warm = hf.cached(ttl=1.0, name="warm", tags=["warm"])(lambda: 1)
        warm()
        warm.invalidate()
        hf.invalidate_tags("warm")
        yield hf


def counting(hf: Any, half: Half, **options: Any) -> tuple[Any, list[int]]:
    """Return a cached function of the half, and the list of its calls."""
    calls: list[int] = []
    given = {"ttl": 600.0, "name": "f", "tags": ["all"], **options}

    def plain(n: int) -> int:
        calls.append(n)
        return len(calls)

    async def coroutine(n: int) -> int:
        return plain(n)

    return hf.cached(**given)(coroutine if half.name == "async" else plain), calls


def test_functions_are_called_without_their_cache(
    half: Half, proxy: Proxy, direct: Holdfast, caplog: pytest.LogCaptureFixture
) -> None:
    function, _ = counting(half.client(proxy.url, direct.namespace), half)
    assert [half.do(function(1)), half.do(function(1))] == [1, 1]
    with proxy.refuse():
        assert [half.do(function(1)), half.do(function(1)), half.do(function(2))] == [2, 3, 4]
        assert half.do(function.many([1, 2])) == [5, 6]
        assert caplog.text.count("functions are called without their cache") == 1
        with pytest.raises(ServerUnavailable):
            half.do(function.invalidate(1))
        with pytest.raises(ServerUnavailable):
            half.do(function.peek(1))
    eventually(lambda: half.do(function(1)) == 1)  # the stored result is used again


def test_a_server_that_does_not_answer_costs_one_timeout(
    half: Half, proxy: Proxy, direct: Holdfast
) -> None:
    hf = half.client(f"{proxy.url}?socket_timeout=1", direct.namespace)
    function, _ = counting(hf, half)
    half.do(function(1))
    proxy.black_hole()
    half.do(function(2))
    began = time.monotonic()
    done = 0
    while time.monotonic() - began < 0.5:
        half.do(function(3))
        done += 1
    proxy.heal()
    assert done > 3  # at most one of them waited for the server


def test_an_outage_may_raise_instead(half: Half, proxy: Proxy, direct: Holdfast) -> None:
    function, calls = counting(half.client(proxy.url, direct.namespace), half, on_outage="raise")
    half.do(function(1))
    with proxy.refuse():
        for _ in range(3):
            with pytest.raises(ServerUnavailable):
                half.do(function(1))
    assert calls == [1]


def test_a_failure_right_after_an_answer_pauses_the_calls() -> None:
    """Calls that were in progress may be answered, and fail, in any order."""
    outage = ServerOutage()
    error = ServerUnavailable("reading f", "it did not answer", harmless=True)
    outage.failed(error, calls=True)
    assert outage.is_pausing
    outage.answered()
    assert not outage.is_pausing
    outage.failed(error, calls=True)
    assert outage.is_pausing


async def test_few_calls_run_at_once_during_an_outage(proxy: Proxy, direct: Holdfast) -> None:
    async with AsyncHoldfast.from_url(proxy.url, namespace=direct.namespace) as hf:
        running, most = 0, 0

        @hf.cached(ttl=60.0, outage_concurrency=4)
        async def function(n: int) -> int:
            nonlocal running, most
            running += 1
            most = max(most, running)
            await asyncio.sleep(0.01)
            running -= 1
            return n

        with proxy.refuse():
            assert await asyncio.gather(*(function(n) for n in range(40))) == [*range(40)]
        assert most == 4


@pytest.mark.parametrize("loss", ["drop_reply", "drop_request"])
@pytest.mark.parametrize("script", ["read", "claim", "commit"])
def test_lost_replies_of_a_call(
    half: Half, proxy: Proxy, direct: Holdfast, loss: str, script: str
) -> None:
    function, calls = counting(half.client(proxy.url, direct.namespace), half)
    half.do(function.invalidate(1))  # opens the connection
    sent = {"read": "MGET", "claim": CLAIM.sha1, "commit": COMMIT.sha1}[script]
    fault = getattr(proxy, loss)(match=sent.encode())
    assert half.do(function(1)) == 1
    assert fault.fired == 1
    if loss == "drop_reply":  # It is repeated, because that does no harm.
        assert half.do(function(1)) == 1
    eventually(lambda: half.do(function(1)) == half.do(function(1)))
    assert loss == "drop_request" or calls == [1]


@pytest.mark.parametrize("loss", ["drop_reply", "drop_request"])
@pytest.mark.parametrize("how", ["key", "tag"])
def test_lost_replies_of_an_invalidation(
    half: Half, proxy: Proxy, direct: Holdfast, loss: str, how: str
) -> None:
    hf = half.client(proxy.url, direct.namespace)
    function, _ = counting(hf, half)
    half.do(function(1))
    script = INVALIDATE if how == "key" else RAISE
    fault = getattr(proxy, loss)(match=script.sha1.encode())
    try:
        half.do(function.invalidate(1) if how == "key" else hf.invalidate_tags("all"))
    except ServerUnavailable:  # a lost request on a single server: not applied
        half.do(function.invalidate(1) if how == "key" else hf.invalidate_tags("all"))
    assert fault.fired == 1
    assert half.do(function(1)) == 2
