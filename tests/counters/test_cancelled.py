"""A flush that is cancelled half-way: its counts are not lost, and count once."""

import asyncio
import secrets

import pytest

from faults.proxy import Proxy
from faults.servers import Server
from faults.waiting import eventually_async
from holdfast import AsyncHoldfast, OutcomeUnknown
from holdfast.counters._async.counter import ADD


@pytest.mark.parametrize("lost", ["drop_reply", "drop_request"])
async def test_a_cancelled_flush_counts_once(standalone: Server, proxy: Proxy, lost: str) -> None:
    url = f"{proxy.url}?socket_timeout=30"
    async with AsyncHoldfast.from_url(url, namespace=secrets.token_hex(4)) as hf:
        await hf.counter("hits").add()
        buffer = hf.counter_buffer(flush_every=3600)
        buffer.add("hits", 10)
        fault = getattr(proxy, lost)(match=ADD.sha1.encode())
        flush = asyncio.create_task(buffer.flush())
        await eventually_async(lambda: fault.fired)
        flush.cancel()
        with pytest.raises((asyncio.CancelledError, OutcomeUnknown)):
            await flush
        await buffer.flush()
        assert await hf.counter("hits").total(3600) == 11
