"""Checks that run beside a whole cell of the matrix find what they are for."""

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from faults.clusters import Cluster
from faults.matrix.cell_result import CellResult
from faults.matrix.nemeses.topology import no_client_asked_the_replica
from faults.matrix.nemeses.unaffected_queue import UnaffectedQueue
from faults.matrix.recovery import RECOVERIES, late
from faults.matrix.scene import Scene
from faults.servers import Server
from faults.waiting import eventually


def test_an_unaffected_queue_is_served_while_another_node_is_away(cluster: Cluster) -> None:
    """It goes on although one of the nodes cannot be reached."""
    with cluster.proxied() as proxies:
        victim = cluster.nodes[1]
        with UnaffectedQueue(cluster, victim) as unaffected:
            assert cluster.owner(unaffected.slot) is not victim
            with proxies[victim].refuse():
                unaffected.goes_on()


def test_an_unaffected_queue_fails_if_its_own_node_is_away(cluster: Cluster) -> None:
    """Here by a fault of its own node: an implementation that asks all nodes would feel any."""
    with (
        cluster.proxied() as proxies,
        # A call that is under way just then may have been applied.
        pytest.raises(AssertionError, match=r"affected too: (ServerUnavailable|OutcomeUnknown)"),
        UnaffectedQueue(cluster, cluster.nodes[1]) as unaffected,
        proxies[cluster.owner(unaffected.slot)].refuse(),
    ):
        eventually(lambda: unaffected.problem)


@pytest.mark.parametrize(
    "question",
    [("EVAL", "return 1", 0), ("EVAL_RO", "return 1", 0), ("HGET", "lock", "fence"), ("GET", "a")],
    ids=lambda question: question[0],
)
def test_a_client_that_asks_a_replica_is_noticed(
    fresh_server: Server, tmp_path: Path, question: tuple[Any, ...]
) -> None:
    watched: Any = SimpleNamespace(replica=fresh_server)
    scene = Scene(tmp_path, fresh_server.url, fresh_server.client, watched=watched)
    for command in (("HSET", "lock", "fence", 1), ("PEXPIRE", "lock", 1000), ("INFO",), ("PING",)):
        fresh_server.execute(*command)
    no_client_asked_the_replica(scene)
    fresh_server.execute(*question)
    with pytest.raises(AssertionError, match=f"the replica was asked: {question[0].lower()}"):
        no_client_asked_the_replica(scene)


@pytest.mark.parametrize("recovery", RECOVERIES, ids=lambda each: each.faults[0])
def test_what_takes_longer_than_promised_is_late(recovery: Any) -> None:
    bound_s = recovery.bound_s
    result = CellResult(recovery.faults[0], recovery.block or "queue", "U", 17)
    at_last = replace(result, **{recovery.measure: bound_s})
    too_late = replace(result, **{recovery.measure: bound_s + 0.1})
    assert late(at_last) == ""
    assert late(too_late).startswith(f"late: {bound_s + 0.1:.2f} s")
