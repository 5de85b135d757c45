"""A queue that the trouble is not to touch, in use all the while: `Bystander`."""

from __future__ import annotations

import threading
import time
from itertools import count
from types import TracebackType
from typing import Self

from faults.clusters import Cluster
from faults.servers import Server
from faults.waiting import eventually
from holdfast import Holdfast, TaskRegistry
from holdfast.core.names import Namespace
from holdfast.queues.keys import KIND

NAMESPACE = "bystander"
PATIENCE_S = 30.0
"""A guard against hanging."""


def nothing() -> None:
    """Do it."""


class Bystander:
    """Enqueues a task and waits for its end, again and again, until the block is over.

    Args:
        cluster: where.
        victim: the node that does not serve the queue.

    Attributes:
        longest_s: that a task took.

    Raises:
        Exception: one could not be enqueued or did not run; or none was done.
    """

    def __init__(self, cluster: Cluster, victim: Server) -> None:
        space = Namespace.of(NAMESPACE)
        names = (f"elsewhere-{n}" for n in count())
        queue = next(n for n in names if cluster.owner(space.unit(KIND, n).slot) is not victim)
        self.longest_s = 0.0
        self._tasks = TaskRegistry()
        self._call = self._tasks.task(queue=queue)(nothing).call()
        self._hf = Holdfast.from_url(f"{cluster.url}?socket_timeout=1", namespace=NAMESPACE)
        self._worker = self._hf.worker(self._tasks)
        self._over = threading.Event()
        self._problem: BaseException | None = None
        self._threads = [threading.Thread(target=each) for each in (self._worker.run, self._use)]

    def __enter__(self) -> Self:
        for thread in self._threads:
            thread.start()
        eventually(lambda: self.longest_s or self._problem, 2 * PATIENCE_S)
        self.longest_s = 0.0  # it is in use; from now on it counts
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._over.set()
        self._threads[1].join()
        self._worker.stop()
        self._threads[0].join()
        self._hf.close()
        if self._problem is not None:
            raise AssertionError(f"a queue elsewhere was struck too: {self._problem!r}")
        assert self.longest_s, "nothing was done meanwhile"

    def _use(self) -> None:
        while not self._over.is_set():
            began_s = time.monotonic()
            try:
                self._hf.enqueue(self._call).result(timeout=PATIENCE_S)
            except BaseException as error:  # noqa: BLE001 -- told at the end of the block
                self._problem = error
                return
            self.longest_s = max(self.longest_s, time.monotonic() - began_s)
