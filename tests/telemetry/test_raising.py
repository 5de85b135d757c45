"""A sampler or span processor that raises does not reach the operations that are recorded."""

import logging
from typing import Any

import pytest
from opentelemetry.context import get_current
from opentelemetry.sdk.trace import ReadableSpan, SpanProcessor, TracerProvider

from conftest import Site
from holdfast import Holdfast, OpenTelemetry, TaskRegistry

tasks = TaskRegistry()
ran: list[int] = []


@tasks.task(queue="work")
def note(value: int) -> int:
    ran.append(value)
    return value


@pytest.fixture(autouse=True)
def forgotten() -> None:
    ran.clear()


class Raising(SpanProcessor):
    def __init__(self, when: str) -> None:
        self._when = when

    def on_start(self, span: Any, parent_context: Any = None) -> None:
        if self._when == "start":
            raise RuntimeError("the processor fails on purpose")

    def on_end(self, span: ReadableSpan) -> None:
        if self._when == "end":
            raise RuntimeError("the processor fails on purpose")


@pytest.mark.parametrize("when", ["start", "end"])
def test_operations_succeed(site: Site, when: str, caplog: pytest.LogCaptureFixture) -> None:
    tracers = TracerProvider()
    tracers.add_span_processor(Raising(when))
    telemetry = OpenTelemetry(tracer_provider=tracers)
    before = get_current()
    with (
        caplog.at_level(logging.WARNING, "holdfast.telemetry"),
        Holdfast.from_url(site.url, namespace=site.namespace, telemetry=telemetry) as hf,
    ):
        handle = hf.enqueue(note.call(7))
        hf.worker(tasks).run(until_idle=True)
        assert handle.result(timeout=0) == 7
        assert hf.mailbox("jack").send("sold", sender="market")
    assert ran == [7]
    assert get_current() == before
    assert len([one for one in caplog.records if one.name == "holdfast.telemetry"]) == 1
