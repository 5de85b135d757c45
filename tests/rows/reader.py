"""Processes whose threads all read one cold row at once: `reader.py N URL NS DATABASE VIEW`."""

import sys
import threading
from multiprocessing import get_context
from multiprocessing.synchronize import Barrier

import sqlalchemy as sa

from holdfast import Holdfast, SqlRows

THREADS = 125


def main() -> None:
    """Have all of them read at once; fails if any does not get the row."""
    context = get_context("fork")  # so that what they need is imported once
    processes, *where = sys.argv[1:]
    barrier = context.Barrier(int(processes))
    crew = [context.Process(target=read, args=(barrier, *where)) for _ in range(int(processes))]
    for process in crew:
        process.start()
    for process in crew:
        process.join()
    sys.exit(sum(process.exitcode != 0 for process in crew))


def read(barrier: Barrier, url: str, namespace: str, database: str, view: str) -> None:
    """Get ready, wait for the others, and read."""
    right = []
    source = SqlRows(sa.create_engine(database), view, key="id")
    with Holdfast.from_url(f"{url}?socket_timeout=60", namespace=namespace) as hf:
        cache = hf.row_cache("cold", source=source, lease=60.0)

        def look() -> None:
            right.append(cache.get(7, timeout=60).value == {"id": 7, "n": 70})

        threads = [threading.Thread(target=look) for _ in range(THREADS)]
        barrier.wait()
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert right == [True] * THREADS


if __name__ == "__main__":
    main()
