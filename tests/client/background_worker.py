"""A worker that works while a test looks on."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from conftest import Site
from faults.waiting import eventually
from holdfast import Holdfast, TaskRegistry, Worker

PATIENCE_S = 60.0


@contextmanager
def working(site: Site, tasks: TaskRegistry, **options: object) -> Iterator[Worker]:
    """Run a worker in a thread, from its first heartbeat to its end."""
    with Holdfast.from_url(site.url, namespace=site.namespace) as hf:
        worker = hf.worker(tasks, **options)  # type: ignore[arg-type]
        thread = threading.Thread(target=worker.run)
        thread.start()
        try:
            eventually(lambda: hf.workers() != [], PATIENCE_S)
            yield worker
        finally:
            worker.stop()
            thread.join(PATIENCE_S)
            assert not thread.is_alive()
