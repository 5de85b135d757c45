"""What telemetry costs the client: processor time of the same call, with each kind and without."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any, Final

from holdfast import Holdfast, OpenTelemetry, PrometheusMetrics, TaskRegistry

from .harness import BenchmarkRun, Case
from .report import Table

COUNT: Final = 1_000

_tasks: Final = TaskRegistry()


@_tasks.task(queue="calls")
def _nothing() -> None: ...


def run(bench: BenchmarkRun) -> Iterator[Table]:
    """Measure enqueueing, a call with a span and metrics."""
    from opentelemetry.sdk.trace import SpanProcessor, TracerProvider

    provider = TracerProvider()
    provider.add_span_processor(SpanProcessor())  # called for each span, as an exporter is
    kinds: dict[str, Any] = {
        "no telemetry": None,
        "PrometheusMetrics()": PrometheusMetrics(),
        "OpenTelemetry(), no SDK set up": OpenTelemetry(),
        "the same with an SDK, all spans recorded": OpenTelemetry(tracer_provider=provider),
    }
    with ExitStack() as stack:
        cases = []
        for name, telemetry in kinds.items():
            hf = Holdfast.from_url(bench.server.url, namespace="benchmarks", telemetry=telemetry)
            work = _enqueues(stack.enter_context(hf))
            cases.append(Case(name, work, prepare=lambda _: bench.server.clear()))
        yield bench.compared("a task enqueued, with telemetry", cases[0], cases[1:], COUNT)


def _enqueues(hf: Holdfast) -> Callable[[int], None]:
    def work(count: int) -> None:
        for _ in range(count):
            hf.enqueue(_nothing.call())

    return work
