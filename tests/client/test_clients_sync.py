# Generated from test_clients_async.py by tools/unasync.py: edit that, then run `make sync`.
"""Every way to get a client leads to the same server."""

import secrets
from pathlib import Path

import pytest
import redis

from client.users import client_of
from conftest import Site
from faults.clusters import Cluster
from faults.servers import Server
from holdfast import Holdfast, TaskRegistry

tasks = TaskRegistry()
ran: list[int] = []


@tasks.task(queue="clients")
def note(n: int) -> None:
    ran.append(n)


def works(hf: Holdfast) -> bool:
    """Run one task from enqueue to result: with calls, notifier and renewer."""
    ran.clear()
    hf.enqueue_many([note.call(n) for n in range(3)])
    hf.worker(tasks).run(until_idle=True)
    return sorted(ran) == [0, 1, 2]


def test_a_plain_client_of_the_users(site: Site) -> None:
    with Holdfast(site.client, namespace=site.namespace) as hf:
        assert works(hf)
        assert hf.namespace == site.namespace
    assert site.client.ping()


def test_an_asyncio_client_of_the_users(standalone: Server, cluster: Cluster) -> None:
    with Holdfast(redis.Redis.from_url(standalone.url), namespace="c") as hf:
        assert works(hf)
    node = cluster.nodes[0]
    client = redis.RedisCluster(host="127.0.0.1", port=node.port)
    with Holdfast(client, namespace="c") as hf:
        assert works(hf)


@pytest.mark.parametrize("protocol", [2, 3])
def test_a_client_that_speaks_either_protocol_and_decodes(site: Site, protocol: int) -> None:
    """How the user's client reads replies does not matter."""
    client = client_of(site, protocol=protocol, decode_responses=True)
    with Holdfast(client, namespace=site.namespace) as hf:
        assert works(hf)
        box = hf.mailbox("jack")
        box.send({"text": "hi"}, sender="jill")
        assert [message.body for message in (box.fetch()).messages] == [{"text": "hi"}]
    client.close()


def test_a_unix_socket(standalone: Server) -> None:
    path = standalone.socket_path
    with Holdfast.from_url(f"unix://{path}", namespace="c") as hf:
        assert works(hf)
    with Holdfast(redis.Redis(unix_socket_path=str(path)), namespace="c") as hf:
        assert works(hf)


def test_an_embedded_server(tmp_path: Path) -> None:
    """Private ones are apart, a folder keeps its tasks."""
    with Holdfast.embedded() as one, Holdfast.embedded() as other:
        assert works(one)
        one.enqueue(note.call(1))
        assert other.queues() == []
    with Holdfast.embedded(tmp_path / "data") as hf:
        hf.enqueue(note.call(7))
    with Holdfast.embedded(tmp_path / "data") as hf:
        assert (hf.queue("clients").stats()).ready == 1


def test_namespaces_do_not_see_each_other(standalone: Server) -> None:
    name = secrets.token_hex(4)
    with (
        Holdfast.from_url(standalone.url, namespace=name) as short,
        Holdfast.from_url(standalone.url, namespace=f"{name}:b") as long,
    ):
        short.enqueue(note.call(1))
        assert long.queues() == []
        assert (long.queue("clients").stats()).ready == 0
        assert (short.queue("clients").stats()).ready == 1


def test_closing_twice(standalone: Server) -> None:
    hf = Holdfast.from_url(standalone.url, namespace="again")
    assert works(hf)
    hf.close()
    hf.close()


def test_what_is_not_a_client_is_refused() -> None:
    with pytest.raises(TypeError, match="expected a redis-py client"):
        Holdfast("redis://localhost")
    with pytest.raises(ValueError, match="URL scheme 'http' is not one of"):
        Holdfast.from_url("http://localhost")
