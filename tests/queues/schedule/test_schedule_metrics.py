"""What a worker measures of the schedules that it fires."""

import re
import secrets

from prometheus_client import CollectorRegistry, generate_latest

from faults.servers import Server
from holdfast import Every, Holdfast, PrometheusMetrics
from holdfast.core.names import Namespace
from holdfast.core.telemetry import Telemetry
from holdfast.queues import keys
from queues.schedule.scheduled_tasks import report, tasks
from telemetry.recording import Recording

LATE_S = 130
"""How late the schedule is fired: two occurrences of a minute are missed."""

MISSED = 2


def fire_late(server: Server, telemetry: Telemetry) -> None:
    """Fire a schedule that became due `LATE_S` seconds ago."""
    namespace = f"lateness-{secrets.token_hex(4)}"
    with Holdfast.from_url(server.url, namespace=namespace, telemetry=telemetry) as hf:
        due_s = int(server.execute("TIME")[0]) - LATE_S
        hf.schedule("minutely", report.call("x"), Every(60, phase=due_s % 60))
        times = keys.schedule_times(Namespace.of(namespace).unit(keys.KIND, "reports"))
        assert server.execute("ZADD", times, due_s * 1000, "minutely") == 0  # it was there
        hf.worker(tasks).run(until_idle=True)


def test_prometheus_has_lateness_and_counts(standalone: Server) -> None:
    registry = CollectorRegistry()
    fire_late(standalone, PrometheusMetrics(registry))
    text = generate_latest(registry).decode()
    assert f'occurrences_total{{queue="reports",result="missed"}} {MISSED}.0' in text
    assert 'occurrences_total{queue="reports",result="fired"} 1.0' in text
    assert 'holdfast_schedule_lateness_seconds_count{queue="reports"} 1.0' in text
    found = re.search(r'schedule_lateness_seconds_sum\{queue="reports"\} (\S+)', text)
    assert found
    assert 10 <= float(found[1]) < 60  # the latest one is 10 s late


def test_opentelemetry_has_lateness_and_counts(standalone: Server) -> None:
    recording = Recording()
    fire_late(standalone, recording.telemetry)
    counts = recording.metric("holdfast.schedule.occurrences")
    found = {attributes["holdfast.result"]: count for attributes, count in counts}
    assert found == {"fired": 1, "missed": MISSED}
    ((attributes, lateness),) = recording.metric("holdfast.schedule.lateness")
    assert attributes == {"messaging.destination.name": "reports"}
    assert lateness == 1
