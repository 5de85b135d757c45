"""A counter buffer: when it flushes, and what happens when a flush fails."""

import logging
import secrets

import pytest

from conftest import Site
from faults.proxy import Proxy
from faults.servers import Server
from holdfast import (
    AsyncHoldfast,
    ClientClosed,
    CounterOverflow,
    InvalidName,
    OutcomeUnknown,
    ServerUnavailable,
)
from holdfast.core.concurrency._async.primitives import sleep
from holdfast.counters._async import buffer as buffers
from holdfast.counters._async.counter import ADD


async def test_a_buffer_flushes_at_its_interval(hf: AsyncHoldfast) -> None:
    buffer = hf.counter_buffer(flush_every=0.2)
    for n in range(1000):
        buffer.add(f"page {n % 3}", n % 2)
    await reaches(hf, "page 0", 167)
    await reaches(hf, "page 2", 166)
    buffer.add("page 0", -7)
    await reaches(hf, "page 0", 160)


async def reaches(hf: AsyncHoldfast, name: str, total: int) -> None:
    """Wait until the counter has this total."""
    while not await has(hf, name, total):
        await sleep(0.05)


async def has(hf: AsyncHoldfast, name: str, total: int) -> bool:
    return await hf.counter(name).total(3600) == total


async def test_closing_the_buffer_or_the_client_flushes(site: Site) -> None:
    async with AsyncHoldfast.from_url(site.url, namespace=site.namespace) as hf:
        async with hf.counter_buffer(flush_every=3600) as first:
            first.add("hits", 3)
        assert await has(hf, "hits", 3)
        second = hf.counter_buffer(flush_every=3600)
        second.add("hits", 4)
        await second.flush()
        assert await has(hf, "hits", 7)
        second.add("hits", 5)
        with pytest.raises(ValueError, match="the counter buffer is closed"):
            first.add("hits")
    with pytest.raises(ClientClosed):
        second.add("hits")
    async with AsyncHoldfast.from_url(site.url, namespace=site.namespace) as hf:
        assert await has(hf, "hits", 12)


async def test_the_buffer_flushes_at_once_when_it_has_many_names(
    hf: AsyncHoldfast, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(buffers, "MAX_NAMES", 50)
    buffer = hf.counter_buffer(flush_every=3600)
    for n in range(49):
        buffer.add(f"page {n}")
    await sleep(0.1)
    assert await hf.known_counters() == []
    buffer.add("page 49")
    await reaches(hf, "page 0", 1)


async def test_the_client_forgets_a_closed_buffer(hf: AsyncHoldfast) -> None:
    buffer = hf.counter_buffer()
    await buffer.close()
    await buffer.close()
    assert not hf._resources.buffers


async def test_the_buffer_goes_on_after_an_unexpected_error(
    hf: AsyncHoldfast, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    buffer = hf.counter_buffer(flush_every=0.05)
    buffer.add("hits", 3)
    with monkeypatch.context() as context:

        async def call_many(*_: object) -> list[object]:
            raise RuntimeError("no password today")

        context.setattr(hf._resources.caller, "call_many", call_many)
        while "no password today" not in caplog.text:
            await sleep(0.05)
    await reaches(hf, "hits", 3)


async def test_wrong_arguments(hf: AsyncHoldfast) -> None:
    buffer = hf.counter_buffer()
    for count in (True, 1.5, "1"):
        with pytest.raises(TypeError, match="count must be an int"):
            buffer.add("hits", count)  # type: ignore[arg-type]
    for seconds in (0, -1, float("nan")):
        with pytest.raises(ValueError, match="flush_every"):
            hf.counter_buffer(flush_every=seconds)
    await buffer.close()


async def test_a_flush_with_a_lost_reply_counts_once(standalone: Server, proxy: Proxy) -> None:
    """The next flush repeats it, whether the request or the reply was lost."""
    namespace = secrets.token_hex(4)
    url = f"{proxy.url}?socket_timeout=30"
    async with AsyncHoldfast.from_url(url, namespace=namespace) as hf:
        buffer = hf.counter_buffer(flush_every=3600)
        total = 0
        for lose in (proxy.drop_reply, proxy.drop_request):
            lose(match=ADD.sha1.encode())
            for flush in range(3):
                buffer.add("hits", 10)
                total += 10
                if flush == 0:
                    with pytest.raises(OutcomeUnknown):
                        await buffer.flush()
                else:
                    await buffer.flush()
        assert await has(hf, "hits", total)


async def test_repeating_a_flush_counts_once(standalone: Server, proxy: Proxy) -> None:
    url, namespace = f"{proxy.url}?socket_timeout=30", secrets.token_hex(4)
    async with AsyncHoldfast.from_url(url, namespace=namespace) as hf:
        buffer = hf.counter_buffer(flush_every=3600)
        total = 0
        for ending in ("repeat", "flush", "close"):
            for lose in (proxy.drop_reply, proxy.drop_request):
                if ending == "close":
                    buffer = hf.counter_buffer(flush_every=3600)
                buffer.add("hits", 3)
                total += 3
                lose(match=ADD.sha1.encode())
                with pytest.raises(OutcomeUnknown) as caught:
                    await (buffer.close() if ending == "close" else buffer.flush())
                if ending == "flush":
                    await buffer.flush()
                await caught.value.repeat()
                await caught.value.repeat()
                assert await has(hf, "hits", total)


async def test_counts_wait_while_the_server_is_unavailable(
    standalone: Server, proxy: Proxy, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING)
    namespace = secrets.token_hex(4)
    url = f"{proxy.url}?socket_timeout=5"
    async with AsyncHoldfast.from_url(url, namespace=namespace) as hf:
        buffer = hf.counter_buffer(flush_every=0.1)
        with proxy.refuse():
            buffer.add("hits", 10)
            with pytest.raises(ServerUnavailable):
                await buffer.flush()
            buffer.add("hits", 5)
            while "counts are kept for the next flush" not in caplog.text:
                await sleep(0.05)
        await reaches(hf, "hits", 15)


async def test_a_flush_of_many_names(hf: AsyncHoldfast, site: Site) -> None:
    await hf.counter("page 7", precisions=(10, 60), keep=500).add()
    async with hf.counter_buffer(flush_every=3600) as buffer:
        for n in range(1200):
            buffer.add(f"page {n}", n + 1)
            buffer.add(f"page {n}", -1)
        buffer.add("page 3", -3)  # the sum is zero: nothing is sent
    assert await hf.counter("page 7").total(3600) == 8
    assert await hf.counter("page 1199").total(3600) == 1199
    assert await hf.counter("page 3").inspect() is None
    assert len(await hf.known_counters()) == 1000


async def test_add_rejects_bad_names_and_counts_at_once(hf: AsyncHoldfast) -> None:
    async with hf.counter_buffer(flush_every=3600) as buffer:
        buffer.add("hits", 1)
        for name in ("\ud800", "x" * 600):
            with pytest.raises(InvalidName):
                buffer.add(name)
        for count in (2**63, -(2**63)):
            with pytest.raises(ValueError, match="count must be within"):
                buffer.add("hits", count)
    assert await hf.known_counters() == ["hits"]
    assert await has(hf, "hits", 1)


async def test_counts_that_overflow_together_are_added_as_far_as_they_fit(
    hf: AsyncHoldfast,
) -> None:
    async with hf.counter_buffer(flush_every=3600) as buffer:
        buffer.add("much", 2**63 - 1)
        buffer.add("much", 1)
        for _ in range(10):
            buffer.add("little", 1 - 2**63)
        buffer.add("other", 1)
        with pytest.raises(CounterOverflow, match="counter 'little'"):
            await buffer.flush()
        await buffer.flush()  # nothing is left
    assert await has(hf, "much", 2**63 - 1)
    assert await has(hf, "little", 1 - 2**63)
    assert await has(hf, "other", 1)


async def test_a_buffer_is_closed_even_if_its_last_flush_fails(
    proxy: Proxy, standalone: Server
) -> None:
    url = f"{proxy.url}?socket_timeout=1"
    async with AsyncHoldfast.from_url(url, namespace=secrets.token_hex(4)) as hf:
        buffer = hf.counter_buffer(flush_every=3600)
        buffer.add("hits")
        with proxy.refuse(), pytest.raises(ServerUnavailable):
            await buffer.close()
        with pytest.raises(ValueError, match="closed"):
            buffer.add("hits")
