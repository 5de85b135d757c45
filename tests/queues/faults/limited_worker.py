"""Limited tasks, and one worker process: `python -m queues.faults.limited_worker URL NAMESPACE`."""

import logging
import signal
import sys
import time

from holdfast import Holdfast, Limit, PerKey, Retry, RetryAfter, TaskRegistry, current_task

tasks = TaskRegistry()

QUEUE = "limited"
CONCURRENCY = {"counted": 2, "rated": 3}


@tasks.task(
    queue=QUEUE,
    limit=PerKey("tenant", concurrency=CONCURRENCY["counted"]),
    retry=Retry(delays=[0.05]),
)
def counted(tenant: int, n: int) -> None:
    """Take a moment; some attempts fail, and some pause their key."""
    time.sleep(0.01)
    if n % 7 == 3 and current_task().attempt == 1:
        raise ValueError("not yet")
    if n % 11 == 5 and current_task().attempt == 1:
        raise RetryAfter(0.05, scope="key")


@tasks.task(
    queue=QUEUE,
    limit=PerKey("tenant", concurrency=CONCURRENCY["rated"], rate=Limit(20, per=0.2)),
    fair_by="tenant",
)
def rated(tenant: int, n: int) -> None:
    time.sleep(0.005)


def main(url: str, namespace: str) -> None:
    """Serve the queue until SIGTERM."""
    logging.basicConfig(format="%(asctime)s %(name)s %(levelname)s %(message)s")
    logging.getLogger("holdfast.worker").setLevel(logging.INFO)
    with Holdfast.from_url(url, namespace=namespace) as hf:
        worker = hf.worker(tasks, lease=1.0, grace=0.5)
        signal.signal(signal.SIGTERM, lambda *_: worker.stop())
        worker.run()


if __name__ == "__main__":
    main(*sys.argv[1:])
