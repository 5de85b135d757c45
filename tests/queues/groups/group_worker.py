"""One worker process of five queues and a queue of callbacks: `python -m … URL NAMESPACE`."""

import logging
import signal
import sys
import time

from holdfast import Holdfast, Retry, TaskRegistry, current_task

QUEUES = [f"parts-{n}" for n in range(5)]
CALLBACKS = "callbacks"

tasks = TaskRegistry()


@tasks.task(retry=Retry(delays=[0.05]), result_ttl=0)
def part(n: int, *, fails: bool = False) -> int:
    """Take a moment; fail at first, or always."""
    time.sleep(0.005)
    if fails or (n % 7 == 3 and current_task().attempt == 1):
        raise ValueError("not yet")
    return n


@tasks.task(queue=CALLBACKS)
def total(numbers: list[int]) -> int:
    return sum(numbers)


@tasks.task(queue=CALLBACKS)
def alarm(group_id: str) -> str:
    return group_id


def main(url: str, namespace: str) -> None:
    """Serve the queues until SIGTERM."""
    logging.basicConfig(format="%(asctime)s %(name)s %(levelname)s %(message)s")
    logging.getLogger("holdfast.worker").setLevel(logging.INFO)
    with Holdfast.from_url(url, namespace=namespace) as hf:
        queues = dict.fromkeys([*QUEUES, CALLBACKS], 1)
        worker = hf.worker(tasks, queues=queues, lease=1.0, grace=0.5, concurrency=8)
        signal.signal(signal.SIGTERM, lambda *_: worker.stop())
        worker.run()


if __name__ == "__main__":
    main(*sys.argv[1:])
