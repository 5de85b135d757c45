"""The metrics of one process, as those of `prometheus_client`."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from types import TracebackType
from typing import Final

from prometheus_client import REGISTRY, CollectorRegistry, Counter, Histogram

from ..core.names import Unit
from ..core.telemetry import Activity, Fact, Verb, What
from ..core.trace import TraceContext, current_trace
from .conventions import QUEUE, SECONDS

MOST_NAMES: Final = 200
"""Queues, tasks and row caches that get a label of their own; all others are `other`."""

OTHER: Final = "other"


class _Names:
    """Names as labels: the first names get one of their own."""

    def __init__(self) -> None:
        self._known: set[str] = set()

    def label(self, name: str) -> str:
        if name not in self._known:
            if len(self._known) >= MOST_NAMES:
                return OTHER
            self._known.add(name)
        return name


class Meters:
    """Metrics with few label values: queues, tasks, row caches, scripts."""

    def __init__(self, registry: CollectorRegistry | None) -> None:
        into = registry or REGISTRY
        self._queues, self._task_names, self._caches = _Names(), _Names(), _Names()

        def histogram(name: str, what: str, *labels: str) -> Histogram:
            return Histogram(name, what, labels, registry=into, buckets=SECONDS)

        def counter(name: str, what: str, *labels: str) -> Counter:
            return Counter(name, what, labels, registry=into)

        self._tasks = histogram(
            "holdfast_task_duration_seconds", "Of attempts.", "queue", "task", "outcome"
        )
        self._calls = histogram("holdfast_call_duration_seconds", "Of calls.", "script")
        self._failed = counter("holdfast_call_failures", "Calls failed.", "script", "error")
        self._waits = histogram(
            "holdfast_lock_wait_seconds", "Of waiting for a lock or semaphore.", "kind", "outcome"
        )
        self._loads = histogram("holdfast_rows_load_duration_seconds", "Of loads.", "cache")
        self._loaded = counter("holdfast_rows_loaded", "Rows asked of their source.", "cache")
        self._sent = counter("holdfast_messages_sent", "Tasks, messages sent.", "kind", "queue")
        self._received = counter("holdfast_messages_received", "Messages received.", "kind")
        self._lost = counter("holdfast_lock_lost", "Leases lost.", "kind")
        self._rows = counter("holdfast_rows_requests", "Rows asked for.", "cache", "result")

    def during(self, verb: Verb, unit: Unit, amount: int, facts: Mapping[str, Fact]) -> _Activity:
        """Return a context for an operation that begins now."""
        return _Activity(self, verb, unit, amount, facts)

    def count(self, what: What, unit: Unit, amount: int, result: str) -> None:
        """Count events with a result."""
        if what == "rows":
            self._rows.labels(self._caches.label(unit.name), result).inc(amount)
        else:
            self._lost.labels(unit.kind).inc(amount)

    def ended(self, what: _Activity, seconds: float, outcome: str) -> None:
        """Record the end of an operation that took *seconds*."""
        unit = what.unit
        match what.verb:
            case "call":
                script = str(what.facts.get("script", ""))
                self._calls.labels(script).observe(seconds)
                if what.error:
                    self._failed.labels(script, what.error).inc()
            case "process":
                queue = self._queues.label(unit.name) if unit.kind == QUEUE else ""
                task = self._task_names.label(str(what.facts.get("task", "")))
                self._tasks.labels(queue, task, outcome).observe(seconds)
            case "wait":
                self._waits.labels(unit.kind, outcome).observe(seconds)
            case "load":
                cache = self._caches.label(unit.name)
                self._loads.labels(cache).observe(seconds)
                self._loaded.labels(cache).inc(what.amount)
            case "send" if not what.error:
                queue = self._queues.label(unit.name) if unit.kind == QUEUE else ""
                self._sent.labels(unit.kind, queue).inc(what.amount)
            case "receive" if what.amount:
                self._received.labels(unit.kind).inc(what.amount)


class _Activity:
    """One operation in progress, and its context."""

    __slots__ = ("_meters", "_outcome", "_since", "amount", "error", "facts", "unit", "verb")

    def __init__(
        self, meters: Meters, verb: Verb, unit: Unit, amount: int, facts: Mapping[str, Fact]
    ) -> None:
        self.verb = verb
        self.unit = unit
        self.amount = 0 if verb == "receive" else amount
        self.facts = facts
        self.error = ""
        self._meters = meters
        self._outcome = ""
        self._since = 0.0

    @property
    def trace(self) -> TraceContext | None:
        """Return the current trace."""
        return current_trace()

    def received(self, messages: int, traces: Iterable[TraceContext]) -> None:
        """Record that *messages* were received."""
        del traces
        self.amount = messages

    def ended(self, outcome: str, error: str = "") -> None:
        """Record how it ended."""
        self._outcome, self.error = outcome, error

    def __enter__(self) -> Activity:
        self._since = time.perf_counter()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        raised: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        seconds = time.perf_counter() - self._since
        self.error = self.error if kind is None else kind.__name__
        self._meters.ended(self, seconds, "failed" if kind else self._outcome or "done")
