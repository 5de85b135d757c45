"""A worker that runs until it is idle waits for the server, then fires what is due."""

import secrets
import threading
import time

from faults.proxy import Proxy
from faults.servers import Server
from holdfast import Every, Holdfast
from holdfast.core.names import Namespace
from holdfast.queues import keys
from queues.schedule.scheduled_tasks import ran, report, tasks


def test_a_failure_at_the_start_delays_what_is_due(standalone: Server) -> None:
    ran.clear()
    namespace = f"start-{secrets.token_hex(4)}"
    with (
        Proxy(standalone.address) as proxy,
        Holdfast.from_url(standalone.url, namespace=namespace) as direct,
        Holdfast.from_url(proxy.url, namespace=namespace) as hf,
    ):
        times = keys.schedule_times(Namespace.of(namespace).unit(keys.KIND, "reports"))
        due_s = int(standalone.execute("TIME")[0]) - 1
        direct.schedule("due", report.call("x"), Every(60, phase=due_s % 60))
        due_ms = due_s * 1000
        assert standalone.execute("ZADD", times, due_ms, "due") == 0  # it was there
        proxy.refuse()
        heal = threading.Timer(3.0, proxy.heal)
        heal.start()
        began_s = time.monotonic()
        hf.worker(tasks).run(until_idle=True)
        heal.join()
    assert time.monotonic() - began_s >= 2.5
    assert ran == [(f"due@{due_ms}", "x")]
