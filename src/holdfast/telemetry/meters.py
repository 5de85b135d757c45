"""Define and record the metrics of one process with `prometheus_client`."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from types import TracebackType
from typing import Final

from prometheus_client import REGISTRY, CollectorRegistry, Counter, Histogram

from ..core.names import Unit
from ..core.telemetry import Activity, Delay, Fact, Verb, What
from ..core.trace import TraceContext, current_trace
from .conventions import CACHED, QUEUE, SECONDS

MOST_NAMES: Final = 200
"""Largest number of queues, of tasks and of row caches with a label of their own."""

OTHER: Final = "other"
"""The label that all further names share."""


class _Labels:
    """Assigns labels: the first `MOST_NAMES` names are their own labels; all others get `OTHER`."""

    def __init__(self) -> None:
        self._known: set[str] = set()

    def of(self, name: str) -> str:
        if name not in self._known:
            if len(self._known) >= MOST_NAMES:
                return OTHER
            self._known.add(name)
        return name


class Meters:
    """Records durations and counts, with labels that have few values."""

    def __init__(self, registry: CollectorRegistry | None) -> None:
        into = registry or REGISTRY
        self._queues, self._task_names = _Labels(), _Labels()
        self._caches, self._functions = _Labels(), _Labels()

        def histogram(name: str, what: str, *labels: str) -> Histogram:
            return Histogram(name, what, labels, registry=into, buckets=SECONDS)

        def counter(name: str, what: str, *labels: str) -> Counter:
            return Counter(name, what, labels, registry=into)

        self._tasks = histogram(
            "holdfast_task_duration_seconds",
            "Duration of task attempts.",
            "queue",
            "task",
            "outcome",
        )
        self._calls = histogram(
            "holdfast_call_duration_seconds", "Duration of calls to the server.", "script"
        )
        self._failed = counter(
            "holdfast_call_failures", "Failed calls to the server.", "script", "error"
        )
        self._waits = histogram(
            "holdfast_lock_wait_seconds",
            "Duration of waiting for a lock or semaphore.",
            "kind",
            "outcome",
        )
        self._loads = histogram(
            "holdfast_rows_load_duration_seconds",
            "Duration of loading rows from their source.",
            "cache",
        )
        self._loaded = counter("holdfast_rows_loaded", "Rows requested from their source.", "cache")
        self._sent = counter("holdfast_messages_sent", "Tasks and messages sent.", "kind", "queue")
        self._received = counter("holdfast_messages_received", "Messages received.", "kind")
        self._lost = counter("holdfast_lock_lost", "Leases lost.", "kind")
        self._rows = counter(
            "holdfast_rows_requests", "Rows requested from the cache.", "cache", "result"
        )
        self._results = counter(
            "holdfast_cache_requests", "Requested results of functions.", "function", "result"
        )
        self._calls_of_functions = histogram(
            "holdfast_cache_load_duration_seconds", "Duration of calls of functions.", "function"
        )
        self._occurrences = counter(
            "holdfast_schedule_occurrences", "Occurrences of schedules.", "queue", "result"
        )
        self._events = counter("holdfast_task_events", "Events of tasks.", "queue", "result")
        self._lateness = histogram(
            "holdfast_schedule_lateness_seconds",
            "Delay from the instant of an occurrence until it was enqueued.",
            "queue",
        )

    def during(
        self, verb: Verb, unit: Unit, amount: int, facts: Mapping[str, Fact]
    ) -> _MeasuredActivity:
        """Return a context manager that measures an operation, as `Telemetry.during` requires."""
        return _MeasuredActivity(self, verb, unit, amount, facts)

    def count(self, what: What, unit: Unit, amount: int, result: str) -> None:
        """Implement `Telemetry.count`."""
        if what == "rows":
            self._rows.labels(self._caches.of(unit.name), result).inc(amount)
        elif what == "results":
            self._results.labels(self._functions.of(unit.name), result).inc(amount)
        elif what == "occurrences":
            self._occurrences.labels(self._queues.of(unit.name), result).inc(amount)
        elif what == "events":
            self._events.labels(self._queues.of(unit.name), result).inc(amount)
        else:
            self._lost.labels(unit.kind).inc(amount)

    def delayed(self, what: Delay, unit: Unit, seconds: float) -> None:
        """Implement `Telemetry.delayed`."""
        del what  # There is only one kind of delay.
        self._lateness.labels(self._queues.of(unit.name)).observe(seconds)

    def ended(self, activity: _MeasuredActivity, seconds: float, outcome: str) -> None:
        """Record an operation that took *seconds* and ended with *outcome*."""
        unit = activity.unit
        match activity.verb:
            case "call":
                script = str(activity.facts.get("script", ""))
                self._calls.labels(script).observe(seconds)
                if activity.error:
                    self._failed.labels(script, activity.error).inc()
            case "process":
                queue = self._queues.of(unit.name) if unit.kind == QUEUE else ""
                task = self._task_names.of(str(activity.facts.get("task", "")))
                self._tasks.labels(queue, task, outcome).observe(seconds)
            case "wait":
                self._waits.labels(unit.kind, outcome).observe(seconds)
            case "load" if unit.kind == CACHED:
                self._calls_of_functions.labels(self._functions.of(unit.name)).observe(seconds)
            case "load":
                cache = self._caches.of(unit.name)
                self._loads.labels(cache).observe(seconds)
                self._loaded.labels(cache).inc(activity.amount)
            case "send" if not activity.error:
                queue = self._queues.of(unit.name) if unit.kind == QUEUE else ""
                self._sent.labels(unit.kind, queue).inc(activity.amount)
            case "receive" if activity.amount:
                self._received.labels(unit.kind).inc(activity.amount)


class _MeasuredActivity:
    """Implement `Activity` for one operation."""

    __slots__ = ("_meters", "_outcome", "_since", "amount", "error", "facts", "unit", "verb")

    def __init__(
        self, meters: Meters, verb: Verb, unit: Unit, amount: int, facts: Mapping[str, Fact]
    ) -> None:
        self.verb = verb
        self.unit: Unit = unit
        self.amount: int = 0 if verb == "receive" else amount
        self.facts: Mapping[str, Fact] = facts
        self.error: str = ""
        self._meters = meters
        self._outcome = ""
        self._since = 0.0

    @property
    def trace(self) -> TraceContext | None:
        """Implement `Activity.trace`."""
        return current_trace()

    def received(self, messages: int, traces: Iterable[TraceContext]) -> None:
        """Implement `Activity.received`."""
        del traces
        self.amount = messages

    def ended(self, outcome: str, error: str = "") -> None:
        """Implement `Activity.ended`."""
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
