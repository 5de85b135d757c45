"""Outcomes that tasks choose, as spans and metrics."""

import pytest
from opentelemetry.trace import StatusCode
from prometheus_client import CollectorRegistry, generate_latest

from conftest import Site
from holdfast import Holdfast, PrometheusMetrics
from holdfast.core.telemetry import Telemetry
from queues.outcome_tasks import asks_for_time, gives_up, snoozes, tasks
from telemetry.recording import Recording

ENDS = [
    ("asks_for_time", "done", ""),
    ("asks_for_time", "retry", "RetryAfter"),
    ("gives_up", "give_up", "GiveUp"),
    ("snoozes", "done", ""),
    ("snoozes", "snooze", ""),
]


@pytest.fixture
def recording() -> Recording:
    return Recording()


def run(site: Site, telemetry: Telemetry) -> None:
    """Run tasks with each outcome."""
    with Holdfast.from_url(site.url, namespace=site.namespace, telemetry=telemetry) as hf:
        hf.enqueue(gives_up.call())
        hf.enqueue(asks_for_time.call(0.0))
        hf.enqueue(snoozes.call(1, 0.0))
        hf.worker(tasks).run(until_idle=True)


def test_opentelemetry_distinguishes_outcomes(site: Site, recording: Recording) -> None:
    run(site, recording.telemetry)
    found = {
        (
            attributes["holdfast.task.name"],
            attributes["holdfast.outcome"],
            attributes.get("error.type", ""),
        )
        for attributes, _ in recording.metric("messaging.process.duration")
    }
    assert found == set(ENDS)
    spans = [span for span in recording.spans if span.name == "process ends"]
    failed = {
        (span.attributes or {})["holdfast.outcome"]
        for span in spans
        if span.status.status_code is StatusCode.ERROR
    }
    assert failed == {"retry", "give_up"}


def test_prometheus_distinguishes_outcomes(site: Site) -> None:
    registry = CollectorRegistry()
    run(site, PrometheusMetrics(registry))
    exposed = generate_latest(registry).decode()
    for task, outcome, _ in ENDS:
        labels = f'{{outcome="{outcome}",queue="ends",task="{task}"}}'
        assert f"holdfast_task_duration_seconds_count{labels}" in exposed
