"""Under Sentinel, calls follow the primary."""

import socket
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
from holdfast import Holdfast, ServerUnavailable, TaskRegistry, WorkerCannotStart

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


@pytest.mark.parametrize("name", HALVES)
def test_calls_leave_a_primary_that_does_not_answer(watched: Watched, name: str) -> None:
    """A machine that is off refuses no connection, so a call to it has no time left to ask."""
    old, new = watched.primary, watched.replica
    with closing(Half(name)) as half, Redis(*watched.address, protocol=2) as asked:
        hf = half.client(f"{watched.url}?socket_timeout=0.5", "s")
        half.do(hf.counter("before").add(1))
        half.do(half.do(hf.lock("before").acquire(timeout=10.0)).release())
        old.pause()
        try:
            new.execute("REPLICAOF", "NO", "ONE")
            _names(asked, new)
            half.insist(lambda: hf.counter("after").add(1))
            lease = half.insist(lambda: hf.lock("after").acquire(timeout=1.0))
            half.insist(lease.release)
        finally:
            old.resume()
        assert half.do(hf.counter("after").total(3600.0)) == 1


@pytest.mark.parametrize("name", HALVES)
def test_a_sentinel_that_does_not_answer_is_asked_last(watched: Watched, name: str) -> None:
    with closing(Half(name)) as half, Port() as port, port.listen() as mute:
        hosts = f"127.0.0.1:{port.number},127.0.0.1:{watched.address[1]}"
        hf = half.client(f"redis+sentinel://{hosts}/{SERVICE}?socket_timeout=0.5", "s")
        half.insist(lambda: hf.counter("hits").add(1))
        mute.settimeout(0.0)
        while _accepted(mute):
            pass
        watched.fail_over()
        half.insist(lambda: hf.counter("hits").add(1))
        assert not _accepted(mute)


def test_without_a_sentinel_the_error_names_them() -> None:
    with Port() as port:
        url = f"redis+sentinel://127.0.0.1:{port.number}/main?socket_timeout=1"
        with (
            Holdfast.from_url(url) as hf,
            pytest.raises(ServerUnavailable, match=f"no Sentinel of .*{port.number} says where 'm"),
        ):
            hf.lock("l").inspect()


def test_the_error_says_why_no_sentinel_knows_the_service(watched: Watched) -> None:
    host, port = watched.primary.address
    reasons = {
        f"redis+sentinel://127.0.0.1:{watched.address[1]}/other": "it knows no service of this",
        f"redis+sentinel://{host}:{port}/{SERVICE}": "unknown command 'SENTINEL'",
    }
    for url, reason in reasons.items():
        with (
            Holdfast.from_url(f"{url}?socket_timeout=0.3") as hf,
            pytest.raises(ServerUnavailable, match=f"says where '.*' is \\(.*{reason}"),
        ):
            hf.lock("l").inspect()


@pytest.mark.parametrize("name", HALVES)
def test_a_url_of_a_server_that_leads_to_a_sentinel(watched: Watched, name: str) -> None:
    """The error says how to write the URL."""
    where = f"127.0.0.1:{watched.address[1]}"
    with closing(Half(name)) as half:
        hf = half.client(f"redis://{where}", "s")
        for call in (lambda: hf.mailbox("jill").send("x", sender="jack"), hf.lock("l").inspect):
            with pytest.raises(ServerUnavailable, match="it is a Sentinel") as caught:
                half.do(call())
            assert caught.value.rejection == "settings"
            assert caught.value.remedy == f"use redis+sentinel://{where}/{SERVICE}"


def test_the_error_says_how_to_give_the_password_of_a_sentinel(watched: Watched) -> None:
    with Redis(*watched.address, protocol=2) as asked:
        asked.execute_command("ACL", "SETUSER", "default", "resetpass", ">secret")
    with Holdfast.from_url(watched.url) as hf:
        with pytest.raises(ServerUnavailable, match="sentinel_kwargs") as caught:
            hf.lock("l").inspect()
        assert caught.value.rejection == "credentials"
        with pytest.raises(WorkerCannotStart, match="sentinel_kwargs") as ended:
            hf.worker(tasks).run()
        assert "in the URL, or create" not in str(ended.value)
    by_client = Sentinel([watched.address], sentinel_kwargs={"password": "secret"})
    with Holdfast(by_client.master_for(SERVICE)) as hf:
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


def _accepted(listening: socket.socket) -> bool:
    """Accept and close a connection, if one waits."""
    try:
        listening.accept()[0].close()
    except BlockingIOError:
        return False
    return True
