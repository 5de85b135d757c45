"""OpenTelemetry SDK that records in memory."""

from typing import Any

from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from holdfast import OpenTelemetry, TraceContext

TRACE = TraceContext("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01", "vendor=a,other=b")
"""Of a browser or the like."""


class Recording:
    """What was recorded, and the telemetry that records it."""

    def __init__(self) -> None:
        self._exporter = InMemorySpanExporter()
        self._reader = InMemoryMetricReader()
        tracers = TracerProvider()
        tracers.add_span_processor(SimpleSpanProcessor(self._exporter))
        meters = MeterProvider([self._reader])
        self.telemetry = OpenTelemetry(tracer_provider=tracers, meter_provider=meters)
        self.tracers = tracers
        self.tracer = tracers.get_tracer("test")

    @property
    def spans(self) -> tuple[ReadableSpan, ...]:
        """Return all spans that have ended."""
        return self._exporter.get_finished_spans()

    @property
    def names(self) -> list[str]:
        """Their names, in the order of their ends."""
        return [span.name for span in self.spans]

    def span(self, name: str) -> ReadableSpan:
        """Return the only span of that name."""
        [span] = [span for span in self.spans if span.name == name]
        return span

    def metric(self, name: str) -> list[tuple[dict[str, Any], float]]:
        """Return the attributes and the count or sum of each point of a metric."""
        found = self._reader.get_metrics_data()
        return [
            (dict(point.attributes), getattr(point, "count", None) or getattr(point, "value", 0))
            for resource in (found.resource_metrics if found else ())
            for scope in resource.scope_metrics
            for metric in scope.metrics
            if metric.name == name
            for point in metric.data.data_points
        ]

    def everything(self) -> str:
        """Return everything that was recorded, as text."""
        found = self._reader.get_metrics_data()
        return "".join(span.to_json() for span in self.spans) + (found.to_json() if found else "")


def trace_of(span: ReadableSpan) -> str:
    """Return the trace id of a span, in hexadecimal digits."""
    return f"{_context(span).trace_id:032x}"


def span_id(span: ReadableSpan) -> int:
    """Return the id of a span."""
    return int(_context(span).span_id)


def parent_of(span: ReadableSpan) -> int | None:
    """Return the id of the parent of a span, or None."""
    return None if span.parent is None else int(span.parent.span_id)


def _context(span: ReadableSpan) -> Any:
    return span.get_span_context()
