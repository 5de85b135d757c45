"""A primary of a cluster dies while tasks of all partitions run.

All writes wait for a replica, so no acknowledged task is lost. What was in flight on that primary
may run again. Partitions elsewhere go on meanwhile.
"""

import threading
import time
from collections import Counter
from collections.abc import Iterator
from zlib import crc32

import pytest

from faults.clusters import Cluster
from faults.stubborn import insist
from faults.waiting import eventually
from holdfast import Holdfast, Replicated, TaskRegistry
from holdfast.core.names import Namespace
from holdfast.queues import keys
from holdfast.queues.partitions.layout import partition_name
from holdfast.testing.background_worker import BackgroundWorker
from soundness import assert_sound

pytestmark = pytest.mark.long

NAMESPACE = "failover"
QUEUE = "spread"
PARTITIONS = 12
LEASE_S = 2.0
FEW = 100
"""Tasks that show that the queue is in use."""

tasks = TaskRegistry()
ran: list[int] = []


@tasks.task(queue=QUEUE)
def work(number: int) -> None:
    time.sleep(0.01)
    ran.append(number)


def partition_of(number: int) -> int:
    """Return the partition of a task: its partition key is its number."""
    return crc32(str(number).encode()) % PARTITIONS


class Producer(threading.Thread):
    """Enqueues tasks until it is stopped.

    Attributes:
        sent: numbers of the tasks that the server has acknowledged.
        failure: what it has ended with.
    """

    def __init__(self, hf: Holdfast) -> None:
        super().__init__(name="producer")
        self.sent: list[int] = []
        self.failure: BaseException | None = None
        self._hf = hf
        self._stopped = threading.Event()

    def run(self) -> None:
        number = 0
        try:
            while not self._stopped.is_set():
                call = work.call(number).options(partition_key=str(number))
                insist(lambda call=call: self._hf.enqueue(call))  # type: ignore[misc]
                self.sent.append(number)
                number += 1
        except BaseException as error:  # noqa: BLE001 (the test raises it)
            self.failure = error

    def stop(self) -> None:
        self._stopped.set()
        self.join()
        if self.failure is not None:
            raise self.failure


@pytest.fixture
def cluster() -> Iterator[Cluster]:
    options = ("--cluster-require-full-coverage", "no")
    with Cluster(3, *options, replicated=True) as cluster:
        yield cluster


@pytest.mark.parametrize("dies", ["the first partition", "others"])
def test_nothing_is_lost_when_the_primary_of_some_partitions_dies(
    cluster: Cluster, dies: str
) -> None:
    ran.clear()
    space = Namespace.of(NAMESPACE)
    slots = [space.unit(keys.KIND, partition_name(QUEUE, n)).slot for n in range(PARTITIONS)]
    owners = [cluster.owner(slot) for slot in slots]
    index = (
        0
        if dies == "the first partition"
        else next(n for n in range(12) if owners[n] is not owners[0])
    )
    lost = {n for n in range(PARTITIONS) if owners[n] is owners[index]}
    elsewhere = [n for n in range(10_000) if partition_of(n) not in lost][-FEW:]

    url = f"{cluster.url}?socket_timeout=1"
    with Holdfast.from_url(url, namespace=NAMESPACE, durability=Replicated(1)) as hf:
        queue = hf.queue(QUEUE, partitions=PARTITIONS)
        one, other = (hf.worker(tasks, lease=LEASE_S) for _ in range(2))
        with BackgroundWorker(one), BackgroundWorker(other):
            producer = Producer(hf)
            producer.start()
            try:
                eventually(lambda: len(ran) >= FEW, 60)

                def meanwhile() -> None:
                    """Use the partitions on the other primaries."""
                    for number in elsewhere:
                        hf.enqueue(work.call(number).options(partition_key=str(number)))
                    eventually(lambda: set(elsewhere) <= set(ran), 60)

                cluster.lose_primary(slots[index], meanwhile)
                some = len(producer.sent)
                eventually(lambda: len(producer.sent) > some + FEW, 60)
            finally:
                producer.stop()
            eventually(lambda: set(producer.sent) <= set(ran), 60)
            eventually(lambda: left(hf) == 0, 60)
        assert len(queue.partitions()) == PARTITIONS
        assert queue.dead() == []
    times = Counter(ran)
    assert set(times) == {*producer.sent, *elsewhere}
    assert {partition_of(n) for n, count in times.items() if count > 1} <= lost
    assert_sound(url, NAMESPACE)


def left(hf: Holdfast) -> int:
    """Return how many tasks have not ended."""
    stats = hf.queue(QUEUE).stats()
    return stats.ready + stats.delayed + stats.running
