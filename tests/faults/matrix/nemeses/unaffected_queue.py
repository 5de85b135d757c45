"""A queue that the fault must not touch, in constant use: `UnaffectedQueue`."""

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

NAMESPACE = "unaffected"
PATIENCE_S = 30.0
"""A guard against hanging."""

FEW = 3
"""Tasks that show that a queue is served."""


def nothing() -> None:
    """Do it."""


class UnaffectedQueue:
    """Enqueues a task and waits for its end, again and again, until the block is over.

    Args:
        cluster: with the queue.
        victim: the node that does not serve the queue.

    Attributes:
        slot: of the queue.
        longest_s: seconds of the slowest task.
        done: how many tasks have ended.
        problem: the error that stopped it.

    Raises:
        Exception: one could not be enqueued or did not run; or none was done.
    """

    def __init__(self, cluster: Cluster, victim: Server) -> None:
        space = Namespace.of(NAMESPACE)
        names = (f"elsewhere-{n}" for n in count())
        queue = next(n for n in names if cluster.owner(space.unit(KIND, n).slot) is not victim)
        self.slot = space.unit(KIND, queue).slot
        self.longest_s = 0.0
        self.done = 0
        self._tasks = TaskRegistry()
        self._call = self._tasks.task(queue=queue)(nothing).call()
        self._hf = Holdfast.from_url(f"{cluster.url}?socket_timeout=1", namespace=NAMESPACE)
        self._worker = self._hf.worker(self._tasks)
        self._over = threading.Event()
        self.problem: BaseException | None = None
        self._threads = [threading.Thread(target=each) for each in (self._worker.run, self._use)]

    def __enter__(self) -> Self:
        for thread in self._threads:
            thread.start()
        eventually(lambda: self.done or self.problem, 2 * PATIENCE_S)
        self.longest_s = 0.0  # it is in use; from now on it counts
        return self

    def goes_on(self) -> None:
        """Wait until tasks are done that were enqueued from now on.

        Raises:
            AssertionError: they are not.
        """
        enough = self.done + 1 + FEW  # one may be under way
        eventually(lambda: self.done >= enough or self.problem, 2 * PATIENCE_S)
        assert self.problem is None, f"a queue on another node was affected too: {self.problem!r}"

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
        if self.problem is not None:
            raise AssertionError(f"a queue on another node was affected too: {self.problem!r}")
        assert self.longest_s, "nothing was done meanwhile"

    def _use(self) -> None:
        while not self._over.is_set():
            began_s = time.monotonic()
            try:
                self._hf.enqueue(self._call).result(timeout=PATIENCE_S)
            except BaseException as error:  # noqa: BLE001 -- raised at the end of the block
                self.problem = error
                return
            self.longest_s = max(self.longest_s, time.monotonic() - began_s)
            self.done += 1
