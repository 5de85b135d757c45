"""Every way to get a client leads to the same server."""

import secrets
from pathlib import Path

import pytest
import redis
import redis.asyncio

from client.users import client_of
from conftest import Site
from faults.clusters import Cluster
from faults.servers import Server
from holdfast import AsyncHoldfast, TaskRegistry

tasks = TaskRegistry()
ran: list[int] = []


@tasks.task(queue="clients")
def note(n: int) -> None:
    ran.append(n)


async def works(hf: AsyncHoldfast) -> bool:
    """Run one task from enqueue to result: with calls, notifier and renewer."""
    ran.clear()
    await hf.enqueue_many([note.call(n) for n in range(3)])
    await hf.worker(tasks).run(until_idle=True)
    return sorted(ran) == [0, 1, 2]


async def test_a_plain_client_of_the_users(site: Site) -> None:
    async with AsyncHoldfast(site.client, namespace=site.namespace) as hf:
        assert await works(hf)
        assert hf.namespace == site.namespace
    assert site.client.ping()


async def test_an_asyncio_client_of_the_users(standalone: Server, cluster: Cluster) -> None:
    async with AsyncHoldfast(redis.asyncio.Redis.from_url(standalone.url), namespace="c") as hf:
        assert await works(hf)
    node = cluster.nodes[0]
    client = redis.asyncio.RedisCluster(host="127.0.0.1", port=node.port)
    async with AsyncHoldfast(client, namespace="c") as hf:
        assert await works(hf)


@pytest.mark.parametrize("protocol", [2, 3])
async def test_a_client_that_speaks_either_protocol_and_decodes(site: Site, protocol: int) -> None:
    """How the user's client reads replies does not matter."""
    client = client_of(site, protocol=protocol, decode_responses=True)
    async with AsyncHoldfast(client, namespace=site.namespace) as hf:
        assert await works(hf)
        box = hf.mailbox("jack")
        await box.send({"text": "hi"}, sender="jill")
        assert [message.body for message in (await box.fetch()).messages] == [{"text": "hi"}]
    client.close()


async def test_a_unix_socket(standalone: Server) -> None:
    path = standalone.socket_path
    async with AsyncHoldfast.from_url(f"unix://{path}", namespace="c") as hf:
        assert await works(hf)
    async with AsyncHoldfast(redis.Redis(unix_socket_path=str(path)), namespace="c") as hf:
        assert await works(hf)


async def test_an_embedded_server(tmp_path: Path) -> None:
    """Private ones are apart, a folder keeps its tasks."""
    async with AsyncHoldfast.embedded() as one, AsyncHoldfast.embedded() as other:
        assert await works(one)
        await one.enqueue(note.call(1))
        assert await other.queues() == []
    async with AsyncHoldfast.embedded(tmp_path / "data") as hf:
        await hf.enqueue(note.call(7))
    async with AsyncHoldfast.embedded(tmp_path / "data") as hf:
        assert (await hf.queue("clients").stats()).ready == 1


async def test_namespaces_do_not_see_each_other(standalone: Server) -> None:
    name = secrets.token_hex(4)
    async with (
        AsyncHoldfast.from_url(standalone.url, namespace=name) as short,
        AsyncHoldfast.from_url(standalone.url, namespace=f"{name}:b") as long,
    ):
        await short.enqueue(note.call(1))
        assert await long.queues() == []
        assert (await long.queue("clients").stats()).ready == 0
        assert (await short.queue("clients").stats()).ready == 1


async def test_closing_twice(standalone: Server) -> None:
    hf = AsyncHoldfast.from_url(standalone.url, namespace="again")
    assert await works(hf)
    await hf.close()
    await hf.close()


async def test_what_is_not_a_client_is_refused() -> None:
    with pytest.raises(TypeError, match="expected a redis-py client"):
        AsyncHoldfast("redis://localhost")
    with pytest.raises(ValueError, match="URL scheme 'http' is not one of"):
        AsyncHoldfast.from_url("http://localhost")
