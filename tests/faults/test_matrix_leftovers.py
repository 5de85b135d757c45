"""What the matrix says of what is left in the server when a cell is over: its checkers bite."""

from collections.abc import Iterator
from dataclasses import replace
from types import SimpleNamespace
from typing import Any, cast

import pytest

from conftest import Site
from faults.clusters import Cluster
from faults.matrix.cell import audited
from faults.matrix.nemeses.topology import in_use
from faults.matrix.workloads import Workload
from holdfast import Holdfast
from holdfast.core.names import Namespace
from holdfast.counters.keys import KIND
from queues.faults.queue_snapshot import QueueSnapshot

SOUND = QueueSnapshot(
    bodies=frozenset([b"runs", b"waits", b"later", b"dead"]),
    state=frozenset([b"runs", b"dead"]),
    leases=(b"runs",),
    ready=(b"waits", b"cancelled"),
    due=(b"later",),
    dead=(b"dead",),
    expiring=frozenset([b"later"]),
    tombstones=frozenset([b"cancelled"]),
)
"""A task in each place, and what is left of one that was cancelled."""


def test_a_queue_in_good_order_passes() -> None:
    SOUND.check()


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"leases": ()}, "nowhere: "),
        ({"due": (b"later", b"nobody")}, "no tasks: "),
        ({"ready": (b"waits", b"runs", b"cancelled")}, "in several places: "),
        ({"ready": (b"waits", b"waits", b"cancelled")}, "in several places: "),
        ({"state": SOUND.state | {b"done"}}, "remembered: "),
        ({"state": frozenset([b"dead"])}, "without a record: "),
        ({"expiring": frozenset([b"dead"])}, "expire, but do not wait: "),
        ({"ready": (b"waits",)}, "tombstones in no ready list: "),
    ],
)
def test_a_task_that_is_nowhere_or_twice_is_named(changed: dict[str, Any], message: str) -> None:
    with pytest.raises(AssertionError, match=f"^{message}"):
        replace(SOUND, **changed).check()


@pytest.fixture
def counted(site: Site) -> Iterator[str]:
    """Yield the definition of a counter in use."""
    with Holdfast.from_url(site.url, namespace=site.namespace) as hf:
        hf.counter("hits").add()
        yield Namespace.of(site.namespace).unit(KIND, "hits").key("definition")


def test_what_does_not_fit_together_is_astray(site: Site, counted: str) -> None:
    workload = SimpleNamespace(open=lambda: Holdfast.from_url(site.url, namespace=site.namespace))
    assert audited(cast("Workload", workload)) == []
    site.client.delete(counted)
    found = audited(cast("Workload", workload))
    assert {each.kind for each in found} == {"astray"}
    assert "the counter has no definition" in found[0].text


def test_an_unused_slot_is_not_struck(cluster: Cluster) -> None:
    with Holdfast.from_url(cluster.url, namespace="struck") as hf:
        hf.counter("hits").add()
    used = Namespace.of("struck").unit(KIND, "hits").slot
    unused = Namespace.of("struck").unit(KIND, "misses").slot
    assert in_use(cluster, used) == used
    with pytest.raises(AssertionError, match=f"nothing is in slot {unused}"):
        in_use(cluster, unused)
