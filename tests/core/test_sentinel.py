"""Under Sentinel, calls follow the primary."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from redis import Redis
from redis.sentinel import Sentinel

from faults.fixtures import PATIENT_MS
from faults.halves import HALVES, Half
from faults.ports import Port
from faults.sentinels import SERVICE, Watched
from faults.servers import Server
from holdfast import Holdfast, ServerUnavailable, TaskRegistry

tasks = TaskRegistry()


@tasks.task(queue="watched")
def nothing(n: int) -> None:
    del n


@pytest.fixture
def watched(tmp_path: Path) -> Iterator[Watched]:
    """Yield a primary with sentinels that fail over only when the test asks for it."""
    with Watched(tmp_path, down_after_ms=PATIENT_MS) as watched:
        yield watched


def test_calls_follow_a_failover(watched: Watched) -> None:
    by_url = Holdfast.from_url(watched.url, namespace="s")
    by_client = Holdfast(Sentinel([watched.address]).master_for(SERVICE), namespace="s")
    with by_url, by_client:
        by_url.enqueue(nothing.call(1))
        by_client.enqueue(nothing.call(2))
        watched.fail_over()
        for hf in (by_url, by_client):
            hf.enqueue(nothing.call(3))
        assert by_url.queue("watched").stats().ready == 4
        by_client.worker(tasks).run(until_idle=True)
        assert by_url.queue("watched").stats().ready == 0


@pytest.mark.parametrize("name", HALVES)
def test_a_late_sentinel_leads_no_client_to_a_replica(watched: Watched, name: str) -> None:
    """There even what is only read would be of long ago, so it is asked again, until it knows."""
    url, primary = f"{watched.url}?socket_timeout=1", watched.primary
    with (
        closing(Half(name)) as half,
        Holdfast.from_url(url, namespace="s") as hf,
        Redis(*watched.address, protocol=2) as asked,
    ):
        hf.completions("guild").add("jill")
        names = half.client(url, "s").completions("guild")
        _names(asked, watched.replica)
        with pytest.raises(ServerUnavailable, match="it is a replica"):
            half.do(names.search("j"))
        _names(asked, primary)
        assert [match.name for match in half.do(names.search("j"))] == ["jill"]


def test_without_a_sentinel_the_error_names_them() -> None:
    with Port() as port:
        url = f"redis+sentinel://127.0.0.1:{port.number}/main?socket_timeout=1"
        with (
            Holdfast.from_url(url) as hf,
            pytest.raises(ServerUnavailable, match=f"no Sentinel of .*{port.number} says where 'm"),
        ):
            hf.lock("l").inspect()


def test_without_a_cluster_the_error_names_its_nodes() -> None:
    with Port() as port:
        url = f"redis+cluster://127.0.0.1:{port.number}?socket_timeout=1"
        with (
            Holdfast.from_url(url) as hf,
            pytest.raises(ServerUnavailable, match=f"no node of .*{port.number} says who owns"),
        ):
            hf.lock("l").inspect()


def _names(sentinel: Redis, server: Server) -> None:
    sentinel.execute_command("SENTINEL", "REMOVE", SERVICE)
    sentinel.execute_command("SENTINEL", "MONITOR", SERVICE, *server.address, 1)
    sentinel.execute_command("SENTINEL", "SET", SERVICE, "down-after-milliseconds", PATIENT_MS)
