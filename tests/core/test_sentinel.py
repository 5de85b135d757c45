"""Under Sentinel, calls follow the primary."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
import redis
from redis.sentinel import Sentinel

from faults.ports import Port
from faults.processes import Process
from faults.servers import Server, server_binary
from faults.waiting import eventually
from holdfast import Holdfast, ServerUnavailable, TaskRegistry

SOON = ("--repl-diskless-sync-delay", "0")

tasks = TaskRegistry()


@tasks.task(queue="watched")
def nothing(n: int) -> None:
    del n


@pytest.fixture
def sentinel(tmp_path: Path) -> Iterator[tuple[str, int]]:
    """A primary, a replica, and one sentinel that may decide alone. Gives its address."""
    with Server(*SOON) as primary, Server(*SOON) as replica, Port() as port:
        host, primary_port = primary.address
        replica.execute("REPLICAOF", host, primary_port)
        config = tmp_path / "sentinel.conf"
        config.write_text(
            f"port {port.number}\nbind 127.0.0.1\ndir {tmp_path}\n"
            f"sentinel monitor main {host} {primary_port} 1\n"
            "sentinel down-after-milliseconds main 500\n"
            "sentinel failover-timeout main 3000\n"
        )
        with Process(server_binary(), str(config), "--sentinel", name="sentinel"):
            with redis.Redis(port=port.number) as client:
                eventually(lambda: replicas(client) == 1, timeout=20)
            eventually(lambda: link(replica) == "up", timeout=20)
            yield "127.0.0.1", port.number


def link(replica: Server) -> str:
    """How the replica is connected to its primary."""
    status: str = replica.execute("INFO", "replication")["master_link_status"]
    return status


def replicas(client: redis.Redis) -> int:
    """How many replicas the sentinel knows."""
    try:
        return int(client.execute_command("SENTINEL", "MASTER", "main")[b"num-slaves"])
    except redis.RedisError:
        return 0


def primary(client: redis.Redis) -> tuple[bytes, bytes]:
    """Who the sentinel says is the primary."""
    host, port = client.execute_command("SENTINEL", "GET-MASTER-ADDR-BY-NAME", "main")
    return host, port


def is_replica(address: tuple[bytes, bytes]) -> bool:
    """Whether the server there has been told that it is the primary no more."""
    with redis.Redis(address[0].decode(), int(address[1])) as client:
        return client.info("replication")["role"] == "slave"


def fails_over(client: redis.Redis) -> bool:
    """Ask for a failover; False while no replica is ready for it."""
    try:
        client.execute_command("SENTINEL", "FAILOVER", "main")
    except redis.ResponseError:
        return False
    return True


def test_calls_follow_a_failover(sentinel: tuple[str, int]) -> None:
    """By URL, and by the primary of a user's Sentinel; it ends at the new primary."""
    host, port = sentinel
    by_url = Holdfast.from_url(f"redis+sentinel://{host}:{port}/main", namespace="s")
    by_client = Holdfast(Sentinel([sentinel]).master_for("main"), namespace="s")
    with by_url, by_client, redis.Redis(port=port) as asked:
        by_url.enqueue(nothing.call(1))
        by_client.enqueue(nothing.call(2))
        before = primary(asked)
        with redis.Redis(before[0].decode(), int(before[1])) as client:
            client.set("last", "write")
            assert client.wait(1, 10_000) == 1, (
                "replication is asynchronous; nothing is under way now"
            )
        eventually(lambda: fails_over(asked), timeout=20)
        eventually(lambda: primary(asked) != before, timeout=20)
        eventually(lambda: is_replica(before), timeout=20)

        for hf in (by_url, by_client):
            hf.enqueue(nothing.call(3))
        assert by_url.queue("watched").stats().ready == 4
        by_client.worker(tasks).run(until_idle=True)
        assert by_url.queue("watched").stats().ready == 0


def test_without_a_sentinel_the_error_names_them() -> None:
    """And the service, of which a wrong name is the usual mistake."""
    with Port() as port:
        url = f"redis+sentinel://127.0.0.1:{port.number}/main?socket_timeout=1"
        with (
            Holdfast.from_url(url) as hf,
            pytest.raises(ServerUnavailable, match=f"no Sentinel of .*{port.number} says where 'm"),
        ):
            hf.lock("l").inspect()


def test_without_a_cluster_the_error_names_its_nodes() -> None:
    """Those of the URL."""
    with Port() as port:
        url = f"redis+cluster://127.0.0.1:{port.number}?socket_timeout=1"
        with (
            Holdfast.from_url(url) as hf,
            pytest.raises(ServerUnavailable, match=f"no node of .*{port.number} says who owns"),
        ):
            hf.lock("l").inspect()
