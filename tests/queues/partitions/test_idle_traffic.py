"""An idle worker sends little, however many partitions its queue has, and still finds all tasks."""

import math
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from faults.servers import Server
from faults.waiting import eventually
from holdfast import Holdfast
from holdfast.core.names import Namespace, Unit
from holdfast.queues import keys
from holdfast.queues.partitions.layout import partition_name
from holdfast.queues.worker.idle_pace import IdlePace
from queues.partitions.partitioned_tasks import QUEUE, plain, ran, tasks

NAMESPACE = "idle"

WATCHED_S = 20.0

SCRIPTS = 0.6
"""Scripts in a second, however many partitions there are: heartbeats, and few steps."""

LOOKS = 1.5
"""Looks in a second, times the square root of the partitions."""

SOON_S = 12.0
"""A worker finds all tasks of 16 partitions within 4 seconds, or later on a busy machine.

If it looked once a second for all partitions together, it would need 16 seconds.
"""


def units(partitions: int) -> list[Unit]:
    """Return the partitions of the queue."""
    space = Namespace.of(NAMESPACE)
    return [space.unit(keys.KIND, partition_name(QUEUE, index)) for index in range(partitions)]


def calls(server: Server, command: str) -> int:
    stats = server.execute("INFO", "commandstats")
    return int(stats.get(f"cmdstat_{command}", {}).get("calls", 0))


@contextmanager
def idle_worker(server: Server, partitions: int) -> Iterator[Holdfast]:
    """Run a worker in a thread, and yield once it is idle in all partitions."""
    with Holdfast.from_url(server.url, namespace=NAMESPACE) as hf, server.client() as raw:
        if partitions > 1:
            hf.queue(QUEUE).repartition(partitions)
        worker = hf.worker(tasks)
        thread = threading.Thread(target=worker.run)
        thread.start()
        try:
            eventually(lambda: all(raw.exists(keys.idle(each)) for each in units(partitions)), 30)
            yield hf
        finally:
            worker.stop()
            thread.join()


@pytest.mark.long
@pytest.mark.parametrize("partitions", [1, 16, 64])
def test_idle_traffic_grows_with_the_square_root_of_the_partitions(partitions: int) -> None:
    with Server() as server, idle_worker(server, partitions):
        time.sleep(4.0)  # it makes a step in each partition when its subscription there begins
        before = calls(server, "evalsha"), calls(server, "exists")
        time.sleep(WATCHED_S)
        after = calls(server, "evalsha"), calls(server, "exists")
    scripts, looks = ((b - a) / WATCHED_S for a, b in zip(before, after, strict=True))
    print(f"{partitions} partitions: {scripts:.2f} scripts and {looks:.2f} looks in a second")
    assert scripts <= SCRIPTS
    assert looks <= LOOKS * math.sqrt(partitions)


@pytest.mark.parametrize("partitions", [1, 9])
def test_the_server_lists_an_idle_worker_until_after_its_next_step(partitions: int) -> None:
    """A worker that makes its steps more rarely is listed for longer. Otherwise none wakes it."""
    longest_ms = IdlePace(256).listed_ms
    with Server() as server, idle_worker(server, partitions), server.client() as raw:
        seconds, microseconds = raw.time()
        now_ms = 1000 * seconds + microseconds // 1000
        for each in units(partitions):
            [(_, until_ms)] = raw.zrange(keys.idle(each), 0, -1, withscores=True)
            assert 1000 * IdlePace(partitions).step_s < until_ms - now_ms
            assert longest_ms < raw.pttl(keys.idle(each))


@pytest.mark.long
def test_an_idle_worker_finds_tasks_without_a_notification() -> None:
    ran.clear()
    with Server() as server, idle_worker(server, 16) as hf, server.client() as raw:
        time.sleep(2.0)  # the subscription of each partition has begun
        raw.delete(*(keys.idle(each) for each in units(16)))  # so no worker is notified
        hf.enqueue_many([plain.call(n) for n in range(1600)])  # 100 in each partition
        began_s = time.monotonic()
        eventually(lambda: len(ran) == 1600, 60)
        assert time.monotonic() - began_s < SOON_S
