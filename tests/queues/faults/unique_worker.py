"""Unique tasks, and one worker process: `python -m queues.faults.unique_worker URL NAMESPACE`."""

import logging
import signal
import sys
import time

from holdfast import Holdfast, Retry, Snooze, TaskRegistry, Unique, current_task

tasks = TaskRegistry()
ran: list[tuple[int, str]] = []

QUEUE = "unique"


@tasks.task(queue=QUEUE, unique=Unique(key="user"), retry=Retry(delays=[0.05], snoozes=3))
def held(user: int, text: str = "") -> None:
    """Take a moment, and end in several ways, some of them after a second run."""
    ran.append((user, text))
    time.sleep(0.01)
    if user % 5 == 1 and current_task().attempt == 1:
        raise ValueError("not yet")
    if user % 5 == 2 and current_task().snoozes == 0:
        raise Snooze(0.05)


@tasks.task(queue=QUEUE, unique=Unique(key="user", until=0.05), retry=Retry(attempts=1))
def kept(user: int, text: str = "") -> None:
    ran.append((user, text))
    if user % 5 == 3:
        raise ValueError("never")


@tasks.task(queue=QUEUE, unique=Unique(key="user", until="start", when="replace"))
def replaced(user: int, text: str = "") -> None:
    ran.append((user, text))


@tasks.task(queue=QUEUE, unique=Unique(key="user", when="postpone"))
def postponed(user: int, text: str = "") -> None:
    ran.append((user, text))


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
