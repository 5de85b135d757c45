"""Under Sentinel, calls follow the primary."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from redis.sentinel import Sentinel

from faults.fixtures import PATIENT_MS
from faults.ports import Port
from faults.sentinels import SERVICE, Watched
from holdfast import Holdfast, ServerUnavailable, TaskRegistry

tasks = TaskRegistry()


@tasks.task(queue="watched")
def nothing(n: int) -> None:
    del n


@pytest.fixture
def watched(tmp_path: Path) -> Iterator[Watched]:
    """Nobody takes a busy primary for dead: it is deposed when the test says so."""
    with Watched(tmp_path, down_after_ms=PATIENT_MS) as watched:
        yield watched


def test_calls_follow_a_failover(watched: Watched) -> None:
    """By URL, and by the primary of a user's Sentinel; it ends at the new primary."""
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
