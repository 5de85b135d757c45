"""What telemetry costs the client: processor time of the same call, with each kind and without."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any, Final

from holdfast import Holdfast, OpenTelemetry, PrometheusMetrics

from .harness import BenchmarkRun, Case
from .report import Table

COUNT: Final = 1_000


def run(bench: BenchmarkRun) -> Iterator[Table]:
    """Measure adding to a counter."""
    from opentelemetry.sdk.trace import TracerProvider

    kinds: dict[str, Any] = {
        "no telemetry": None,
        "PrometheusMetrics()": PrometheusMetrics(),
        "OpenTelemetry(), no SDK set up": OpenTelemetry(),
        "the same with an SDK, all spans recorded": OpenTelemetry(tracer_provider=TracerProvider()),
    }
    with ExitStack() as stack:
        cases = []
        for name, telemetry in kinds.items():
            hf = Holdfast.from_url(bench.server.url, namespace="benchmarks", telemetry=telemetry)
            cases.append(Case(name, _adds(stack.enter_context(hf))))
        yield bench.compared("a call with telemetry", cases[0], cases[1:], COUNT)


def _adds(hf: Holdfast) -> Callable[[int], None]:
    counter = hf.counter("calls")

    def work(count: int) -> None:
        for _ in range(count):
            counter.add()

    return work
