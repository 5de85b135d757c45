"""Record the operations of a client as spans and metrics of OpenTelemetry."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from contextlib import AbstractContextManager
from contextvars import Token
from types import TracebackType
from typing import Final

from opentelemetry import context, metrics, trace
from opentelemetry.context import Context
from opentelemetry.metrics import MeterProvider
from opentelemetry.trace import Link, Span, SpanKind, StatusCode, TracerProvider
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from ..core.guarded_telemetry import TelemetryFailures
from ..core.names import Unit
from ..core.telemetry import NO_FACTS, Activity, Delay, Fact, Verb, What
from ..core.trace import TraceContext, current_trace
from ..version import __version__
from . import conventions as names
from .instruments import Attributes, Instruments

_W3C: Final = TraceContextTextMapPropagator()

_KINDS: Final[Mapping[Verb, SpanKind]] = {
    "send": SpanKind.PRODUCER,
    "process": SpanKind.CONSUMER,
    "receive": SpanKind.CLIENT,
    "wait": SpanKind.CLIENT,
    "load": SpanKind.INTERNAL,
    "call": SpanKind.CLIENT,
    "step": SpanKind.INTERNAL,
}

_ONLY_INSIDE_A_SPAN: Final = frozenset[Verb]({"receive", "wait", "load", "call", "step"})
"""Operations that get a span only inside another span. Otherwise each poll of a loop that waits
for work would start a trace."""


class Spans:
    """Records the spans and metrics of clients; see `OpenTelemetry`.

    An exception of a sampler, a span processor or an instrument does not reach the operation: a
    task that succeeded must not fail because its span could not be recorded.
    """

    def __init__(
        self, tracer_provider: TracerProvider | None, meter_provider: MeterProvider | None
    ) -> None:
        scope, url = ("holdfast", __version__), names.SCHEMA_URL
        self._tracer = trace.get_tracer(*scope, tracer_provider, schema_url=url)
        self._instruments = Instruments(metrics.get_meter(*scope, meter_provider, schema_url=url))
        self.failures: Final = TelemetryFailures("OpenTelemetry")

    def during(
        self,
        verb: Verb,
        unit: Unit,
        *,
        amount: int = 1,
        trace: TraceContext | None = None,
        facts: Mapping[str, Fact] = NO_FACTS,
    ) -> AbstractContextManager[Activity]:
        """Implement `Telemetry.during`."""
        span = None
        try:
            span = self._span(verb, unit, amount, trace, facts)
        except Exception as problem:  # noqa: BLE001 (see the class)
            self.failures.add(problem)
        return _SpanActivity(self, span, verb, unit, amount, facts)

    def count(self, what: What, unit: Unit, amount: int, result: str) -> None:
        """Implement `Telemetry.count`."""
        try:
            self._instruments.count(what, unit, amount, result)
        except Exception as problem:  # noqa: BLE001 (see the class)
            self.failures.add(problem)

    def delayed(self, what: Delay, unit: Unit, seconds: float) -> None:
        """Implement `Telemetry.delayed`."""
        try:
            self._instruments.delayed(what, unit, seconds)
        except Exception as problem:  # noqa: BLE001 (see the class)
            self.failures.add(problem)

    def measure(
        self,
        verb: Verb,
        unit: Unit,
        amount: int,
        facts: Mapping[str, Fact],
        seconds: float,
        outcome: str,
        error: str,
    ) -> None:
        """Record the metrics of an operation that has ended; see `Instruments.ended`."""
        try:
            self._instruments.ended(verb, unit, amount, facts, seconds, outcome, error)
        except Exception as problem:  # noqa: BLE001 (see the class)
            self.failures.add(problem)

    def _span(
        self,
        verb: Verb,
        unit: Unit,
        amount: int,
        sent: TraceContext | None,
        facts: Mapping[str, Fact],
    ) -> Span | None:
        """Start and return the span of an operation; None if it gets no span.

        If the operation processes a message, the parent is *sent*, the trace of the sender.
        """
        script = facts.get("script")
        if script in names.PARTS_OF_OPERATIONS or script in names.UPKEEP:
            return None
        parent = _current_context() if verb != "process" else None
        if parent is None and verb in _ONLY_INSIDE_A_SPAN:
            return None
        links: list[Link] = []
        if sent is not None:
            parent = _context_of(sent)
            links = [Link(trace.get_current_span(parent).get_span_context())]
        return self._tracer.start_span(
            _name(verb, unit, facts),
            parent if parent is not None else Context(),
            _KINDS[verb],
            _attributes(verb, unit, amount, facts),
            links,
            record_exception=False,
        )


class _SpanActivity:
    """Implement `Activity` for one operation."""

    __slots__ = (
        "_amount",
        "_error",
        "_facts",
        "_outcome",
        "_since",
        "_span",
        "_spans",
        "_token",
        "_unit",
        "_verb",
    )

    def __init__(
        self,
        spans: Spans,
        span: Span | None,
        verb: Verb,
        unit: Unit,
        amount: int,
        facts: Mapping[str, Fact],
    ) -> None:
        self._spans = spans
        self._span = span
        self._verb = verb
        self._unit = unit
        self._amount = 0 if verb == "receive" else amount
        self._facts = facts
        self._outcome = self._error = ""
        self._token: Token[Context] | None = None
        self._since = 0.0

    @property
    def trace(self) -> TraceContext | None:
        """Implement `Activity.trace`."""
        if self._span is None:
            return current_trace()
        carrier: dict[str, str] = {}
        _W3C.inject(carrier, trace.set_span_in_context(self._span))
        return TraceContext.parsed(carrier.get("traceparent"), carrier.get("tracestate"))

    def received(self, messages: int, traces: Iterable[TraceContext]) -> None:
        """Implement `Activity.received`."""
        self._amount = messages
        span = self._span
        if span is not None and span.is_recording():
            span.set_attribute(names.BATCH, messages)
            for each in traces:
                span.add_link(trace.get_current_span(_context_of(each)).get_span_context())

    def ended(self, outcome: str, error: str = "") -> None:
        """Implement `Activity.ended`."""
        self._outcome, self._error = outcome, error

    def __enter__(self) -> Activity:
        if self._span is not None:
            self._token = context.attach(trace.set_span_in_context(self._span))
        self._since = time.perf_counter()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        raised: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        seconds = time.perf_counter() - self._since
        error = self._error if kind is None else kind.__name__
        span = self._span
        if span is not None and self._token is not None:
            context.detach(self._token)
            try:
                _end(span, self._outcome, error)
            except Exception as problem:  # noqa: BLE001 (see `Spans`)
                self._spans.failures.add(problem)
        self._spans.measure(
            self._verb, self._unit, self._amount, self._facts, seconds, self._outcome, error
        )


def _end(span: Span, outcome: str, error: str) -> None:
    if outcome:
        span.set_attribute(names.OUTCOME, outcome)
    if error:
        span.set_attribute(names.ERROR, error)
        span.set_status(StatusCode.ERROR)  # Without the error's text: it may quote data.
    span.end()


def _current_context() -> Context | None:
    """Return the context of the current span, or of the current trace; None if there is none."""
    if trace.get_current_span().get_span_context().is_valid:
        return context.get_current()
    known = current_trace()
    return None if known is None else _context_of(known)


def _context_of(sent: TraceContext) -> Context:
    carrier = {"traceparent": sent.traceparent, "tracestate": sent.tracestate}
    return _W3C.extract(carrier, context=Context())


def _name(verb: Verb, unit: Unit, facts: Mapping[str, Fact]) -> str:
    """Return the name of a span, such as `send email` or `send mailbox`; names have few values."""
    if verb == "call":
        verb_of_script = str(facts.get("script", "call")).rpartition("/")[2]
        return f"{verb_of_script} {unit.kind}"
    of = unit.name if unit.kind == names.QUEUE else unit.kind
    return f"{verb} {of}".rstrip()


def _attributes(verb: Verb, unit: Unit, amount: int, facts: Mapping[str, Fact]) -> Attributes:
    """Return the attributes of a new span."""
    script = str(facts.get("script", ""))
    operation = names.SETTLING.get(script)
    if verb in ("wait", "load", "call") and operation is None:
        found: Attributes = {names.UNIT_KIND: unit.kind, names.UNIT_NAME: unit.name}
        return found | ({names.SCRIPT: script} if script else {})
    found = {
        names.SYSTEM: names.HOLDFAST,
        names.OPERATION: operation or verb,
        names.OPERATION_TYPE: "settle" if operation else verb,
    }
    if unit.name:
        found[names.DESTINATION] = unit.name
    if unit.kind != names.QUEUE:
        found[names.TEMPLATE] = unit.kind
    if amount != 1:
        found[names.BATCH] = amount
    for fact, attribute in _FACTS.items():
        if facts.get(fact, "") != "":
            found[attribute] = facts[fact]
    return found


_FACTS: Final = {
    "id": names.MESSAGE_ID,
    "task": names.TASK,
    "attempt": names.ATTEMPT,
    "step": names.STEP,
}
