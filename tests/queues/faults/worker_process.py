"""A worker process: `python -m queues.faults.worker_process URL NAMESPACE HISTORY …`.

It serves the queue of `chores` until SIGTERM, and writes a log to stderr.
"""

import logging
import signal
import sys

from faults.access import opened
from faults.history import Recorder
from holdfast import Holdfast, TaskRegistry
from queues.faults import chores


def main(
    url: str,
    namespace: str,
    history: str,
    lease: str,
    places: str,
    grace: str,
    access: str = "",
    tasks: TaskRegistry = chores.tasks,
) -> None:
    """Work. As to *access* see `opened`."""
    logging.basicConfig(format="%(asctime)s %(name)s %(levelname)s %(message)s")
    logging.getLogger("holdfast.worker").setLevel(logging.INFO)
    chores.recorders.append(Recorder(history))
    with opened(Holdfast, url, namespace, access) as hf:
        worker = hf.worker(tasks, concurrency=int(places), lease=float(lease), grace=float(grace))
        signal.signal(signal.SIGTERM, lambda *_: worker.stop())
        worker.run()


if __name__ == "__main__":
    main(*sys.argv[1:])
