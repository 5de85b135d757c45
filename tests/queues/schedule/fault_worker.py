"""One worker process: `python -m queues.schedule.fault_worker URL NAMESPACE CLOCK_OFFSET`.

It serves the queue of `scheduled_tasks` until SIGTERM. Its own clock is off by some seconds.
"""

import logging
import signal
import sys
import time

from holdfast import Holdfast
from queues.schedule.scheduled_tasks import tasks


def main(url: str, namespace: str, offset_s: str) -> None:
    """Serve the queue."""
    logging.basicConfig(format="%(asctime)s %(name)s %(levelname)s %(message)s")
    logging.getLogger("holdfast.worker").setLevel(logging.INFO)
    real_time, real_time_ns, offset = time.time, time.time_ns, float(offset_s)
    time.time = lambda: real_time() + offset
    time.time_ns = lambda: real_time_ns() + int(offset * 1e9)
    with Holdfast.from_url(url, namespace=namespace) as hf:
        worker = hf.worker(tasks, lease=1.0, grace=0.5)
        signal.signal(signal.SIGTERM, lambda *_: worker.stop())
        worker.run()


if __name__ == "__main__":
    main(*sys.argv[1:])
