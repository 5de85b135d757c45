"""One worker process: `python -m queues.schedule.fault_worker URL NAMESPACE CLOCK_OFFSET STEP`.

It serves the queue of `scheduled_tasks` until SIGTERM. Its own clock is off by some seconds, and
steps by some more, forwards and backwards, every few seconds.
"""

import logging
import signal
import sys
import time

from holdfast import Holdfast
from queues.schedule.scheduled_tasks import tasks

STEP_EVERY_S = 3.0
STEPS = (0, 1, -1)


def main(url: str, namespace: str, offset_s: str, step_s: str) -> None:
    """Serve the queue."""
    logging.basicConfig(format="%(asctime)s %(name)s %(levelname)s %(message)s")
    logging.getLogger("holdfast.worker").setLevel(logging.INFO)
    real_time = time.time

    def wrong_time() -> float:
        step = STEPS[int(time.monotonic() / STEP_EVERY_S) % len(STEPS)]
        return real_time() + float(offset_s) + step * float(step_s)

    time.time = wrong_time
    time.time_ns = lambda: int(wrong_time() * 1e9)
    with Holdfast.from_url(url, namespace=namespace) as hf:
        worker = hf.worker(tasks, lease=1.0, grace=0.5)
        signal.signal(signal.SIGTERM, lambda *_: worker.stop())
        worker.run()


if __name__ == "__main__":
    main(*sys.argv[1:])
