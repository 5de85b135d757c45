"""A name that stands for another server after a failover, while the old one stays up as a replica.

Managed services do this: connections that are open lead to a server that refuses all writes.
"""

import asyncio
import threading
from collections.abc import Iterator
from dataclasses import dataclass

import pytest
from redis import Redis

from faults.ports import LOOPBACK
from faults.proxy import Proxy
from faults.servers import Server
from faults.waiting import eventually
from holdfast import AsyncHoldfast, Holdfast
from holdfast.core.transport._async.connection import AsyncConnection
from holdfast.core.transport.outcome import Replied
from holdfast.core.transport.request import Request
from holdfast.core.transport.settings import Settings

CALLERS = 8


@dataclass
class Pair:
    """A primary behind a name, and its replica."""

    primary: Server
    replica: Server
    name: Proxy

    def fail_over(self) -> None:
        """Let the servers change their parts, and the name follow. No connection is closed."""
        with Redis(port=self.primary.port) as old, Redis(port=self.replica.port) as new:
            old.set("last", "write")
            assert old.wait(1, 10_000) == 1  # Redis 7.0 sends a new replica nothing for a second
            new.replicaof("NO", "ONE")
            old.replicaof(LOOPBACK, self.replica.port)
            eventually(lambda: old.info("replication")["master_link_status"] == "up")
        self.name.retarget((LOOPBACK, self.replica.port))


@pytest.fixture
def pair() -> Iterator[Pair]:
    with Server() as primary, Server() as replica:
        with Redis(port=replica.port) as client:
            client.replicaof(LOOPBACK, primary.port)
            eventually(lambda: client.info("replication")["master_link_status"] == "up")
        with Proxy((LOOPBACK, primary.port)) as name:
            yield Pair(primary, replica, name)


def test_blocking_calls_of_all_threads_reach_the_new_primary(pair: Pair) -> None:
    ready, over = threading.Barrier(CALLERS + 1), threading.Barrier(CALLERS + 1)

    def work(n: int) -> None:
        hf.mailbox("jill").send(f"before {n}", sender="jack")
        ready.wait()
        over.wait()
        hf.mailbox("jill").send(f"after {n}", sender="jack")

    with Holdfast.from_url(pair.name.url) as hf:
        threads = [threading.Thread(target=work, args=(n,)) for n in range(CALLERS)]
        for thread in threads:
            thread.start()
        ready.wait()
        pair.fail_over()
        over.wait()
        for thread in threads:
            thread.join()
        bodies = {message.body for message in hf.mailbox("jill").fetch(timeout=0).messages}
    assert bodies == {f"{when} {n}" for when in ("before", "after") for n in range(CALLERS)}


async def test_asyncio_calls_reach_the_new_primary(pair: Pair) -> None:
    async with AsyncHoldfast.from_url(pair.name.url) as hf:
        box = hf.mailbox("jill")
        await box.send("before", sender="jack")
        pair.fail_over()
        sent = [box.send(f"after {n}", sender="jack") for n in range(CALLERS)]
        await asyncio.gather(*sent)
        bodies = {message.body for message in (await box.fetch(timeout=0)).messages}
    assert bodies == {"before", *(f"after {n}" for n in range(CALLERS))}


async def test_calls_in_flight_keep_their_replies(pair: Pair) -> None:
    """The old connection is left only when all its calls are answered."""
    pair.name.delay(0.1, "replies")
    connection = AsyncConnection(Settings.from_url(pair.name.url), pair.name.address)
    await connection.submit(Request.of("PING"))
    first = connection.submit(Request.of("PING"))
    await asyncio.sleep(0)
    connection.renew()
    second = connection.submit(Request.of("PING"))
    assert [await first, await second] == [Replied(b"PONG")] * 2
    await connection.close()
    assert pair.name.connections == 2
