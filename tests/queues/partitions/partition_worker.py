"""One worker of a queue with partitions, as a process.

`python -m queues.partitions.partition_worker URL NAMESPACE LEASE`. Each task notes its run in a
mailbox: what it was, and its id. LEASE is in seconds.
"""

import logging
import signal
import sys
import time

from holdfast import Holdfast, PerKey, TaskRegistry, current_task
from holdfast.core.names import Namespace

QUEUE = "load"

tasks = TaskRegistry()
log: list[tuple[Holdfast, str]] = []


def note(what: str) -> None:
    hf, namespace = log[0]
    mailbox = hf.mailbox(f"runs {namespace}", capacity=100_000)
    mailbox.send(f"{what} {current_task().task_id}", sender="worker")


@tasks.task(queue=QUEUE)
def plain(producer: int, number: int) -> None:
    note(f"plain {producer} {number}")


@tasks.task(queue=QUEUE, limit=PerKey("producer", concurrency=1))
def in_order(producer: int, number: int) -> None:
    note(f"order {producer} {number}")
    time.sleep(0.001)


def main(url: str, namespace: str, lease: str) -> None:
    """Serve the queue until SIGTERM."""
    logging.basicConfig(format="%(asctime)s %(name)s %(levelname)s %(message)s")
    logging.getLogger("holdfast.worker").setLevel(logging.INFO)
    with Holdfast.from_url(url, namespace=namespace) as hf:
        log.append((hf, Namespace.of(namespace).name))
        worker = hf.worker(tasks, lease=float(lease), grace=0.5)
        signal.signal(signal.SIGTERM, lambda *_: worker.stop())
        worker.run()


if __name__ == "__main__":
    main(*sys.argv[1:])
