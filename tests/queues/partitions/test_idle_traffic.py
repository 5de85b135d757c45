"""An idle worker sends little, however many partitions its queue has."""

import threading
import time

import pytest

from faults.servers import Server
from faults.waiting import eventually
from holdfast import Holdfast
from queues.partitions.partitioned_tasks import QUEUE, tasks

pytestmark = pytest.mark.long

WATCHED_S = 20.0
"""In so many seconds an idle worker makes a step in each partition, and looks at some of them."""

MOST = 0.1
"""Scripts in a second for each partition, at most."""

OTHERS = 2.0
"""Scripts in a second that do not depend on the partitions, at most."""


def scripts_run(server: Server) -> int:
    stats = server.execute("INFO", "commandstats")
    return int(stats.get("cmdstat_evalsha", {}).get("calls", 0))


@pytest.mark.parametrize("partitions", [1, 16, 64])
def test_an_idle_worker_sends_few_scripts(partitions: int) -> None:
    with Server() as server, Holdfast.from_url(server.url) as hf:
        if partitions > 1:
            hf.queue(QUEUE).repartition(partitions)
        worker = hf.worker(tasks)
        thread = threading.Thread(target=worker.run)
        thread.start()
        try:
            eventually(hf.workers, 30)
            time.sleep(4.0)  # it begins with a step in each partition
            before = scripts_run(server)
            time.sleep(WATCHED_S)
            found = (scripts_run(server) - before) / WATCHED_S
        finally:
            worker.stop()
            thread.join()
    print(f"{partitions} partitions: {found:.2f} scripts in a second")
    assert found <= OTHERS + MOST * partitions
