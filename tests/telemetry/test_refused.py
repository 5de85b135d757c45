"""What a worker cannot read, or does not know, is refused, and counted like what it runs."""

import os
from collections.abc import Iterator

import msgspec
import pytest
from prometheus_client import CollectorRegistry, generate_latest

from conftest import Site
from holdfast import Holdfast, PrometheusMetrics, TaskRegistry
from holdfast.core.telemetry import Telemetry
from telemetry.recording import TRACE, Recording, parent_of

SOUND = {"v": 1, "id": "bad", "queue": "work", "task": "note", "args": [1]}
ran: list[int] = []
tasks = TaskRegistry()


@tasks.task(queue="work")
def note(value: int) -> None:
    ran.append(value)


def as_json(**fields: object) -> bytes:
    """Return the valid envelope as JSON, with *fields* replaced."""
    return msgspec.json.encode(SOUND | fields)


REFUSED: dict[str, tuple[bytes, str, str, str]] = {
    "MessagePack": (msgspec.msgpack.encode(SOUND), "dead", "DecodeError", ""),
    "encrypted": (b"gAAAAAB" + os.urandom(64).hex().encode(), "dead", "DecodeError", ""),
    "of a later version": (as_json(v=2), "park", "DecodeError", ""),
    "of another signature": (as_json(args=["one"]), "dead", "DecodeError", "note"),
    "of another program": (as_json(task="canary"), "park", "UnknownTask", ""),
}
"""Kind → the payload, what becomes of it, why, and under which name it is counted."""


@pytest.fixture(autouse=True)
def forgotten() -> Iterator[None]:
    ran.clear()
    yield
    assert ran == []


def refuse(site: Site, body: bytes, telemetry: Telemetry | None) -> None:
    """Enqueue *body*, as any raw client may, and run a worker."""
    prefix = f"{site.namespace}:{{queue:work}}:"
    site.client.hset(prefix + "bodies", "bad", body)
    site.client.rpush(prefix + "ready:m", "bad")
    with Holdfast.from_url(site.url, namespace=site.namespace, telemetry=telemetry) as hf:
        hf.worker(tasks).run(until_idle=True)


@pytest.mark.parametrize("kind", REFUSED)
def test_opentelemetry_counts_rejected_tasks(site: Site, kind: str) -> None:
    body, outcome, error, name = REFUSED[kind]
    recording = Recording()
    refuse(site, body, recording.telemetry)
    [(attributes, count)] = recording.metric("messaging.process.duration")
    assert count == 1
    assert attributes.get("holdfast.task.name", "") == name
    assert (attributes["holdfast.outcome"], attributes["error.type"]) == (outcome, error)
    assert (attributes["messaging.destination.name"], attributes["messaging.operation.name"]) == (
        "work",
        "process",
    )
    assert "canary" not in recording.everything()


@pytest.mark.parametrize("kind", REFUSED)
def test_prometheus_counts_rejected_tasks(site: Site, kind: str) -> None:
    body, outcome, _, name = REFUSED[kind]
    registry = CollectorRegistry()
    refuse(site, body, PrometheusMetrics(registry))
    labels = f'{{outcome="{outcome}",queue="work",task="{name}"}}'
    exposed = generate_latest(registry).decode()
    assert f"holdfast_task_duration_seconds_count{labels} 1.0" in exposed
    assert "canary" not in exposed


def test_it_stays_in_its_trace(site: Site) -> None:
    recording = Recording()
    refuse(site, as_json(args=["one"], traceparent=TRACE.traceparent), recording.telemetry)
    assert parent_of(recording.span("process work")) == int(TRACE.span_id, 16)


@pytest.mark.parametrize("task", ["note", "canary"])
@pytest.mark.parametrize("recorded", [False, True])
def test_its_log_record_is_in_the_trace(
    site: Site, caplog: pytest.LogCaptureFixture, task: str, recorded: bool
) -> None:
    body, recording = as_json(task=task, args=["one"], traceparent=TRACE.traceparent), Recording()
    refuse(site, body, recording.telemetry if recorded else None)
    record = next(one for one in caplog.records if hasattr(one, "holdfast_outcome"))
    assert vars(record)["holdfast_trace_id"] == TRACE.trace_id
    if recorded:
        context = next(one.context for one in recording.spans if one.name == "process work")
        assert context
        assert vars(record)["holdfast_span_id"] == f"{context.span_id:016x}"
