"""Read one cold row in all threads of N processes: `reader.py N URL NS DATABASE VIEW`."""

import sys
import threading
from multiprocessing import get_context
from multiprocessing.synchronize import Barrier

import sqlalchemy as sa

from holdfast import Holdfast, SqlRows

THREADS = 125


def main() -> None:
    """Start the processes; exit with the number of those that did not get the row."""
    context = get_context("fork")  # the modules are imported only once
    processes, *where = sys.argv[1:]
    barrier = context.Barrier(int(processes))
    processes = [
        context.Process(target=read, args=(barrier, *where)) for _ in range(int(processes))
    ]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
    sys.exit(sum(process.exitcode != 0 for process in processes))


def read(barrier: Barrier, url: str, namespace: str, database: str, view: str) -> None:
    """Start a client, wait for the other processes, and read the row in every thread."""
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
