"""Record the metrics of a client with instruments of OpenTelemetry."""

from __future__ import annotations

from collections.abc import Mapping

from opentelemetry.metrics import Histogram, Meter

from ..core.names import Unit
from ..core.telemetry import Delay, Fact, Verb, What
from . import conventions as names

Attributes = dict[str, str | int]


class Instruments:
    """Records durations and counts, with attributes that have few values.

    Args:
        meter: creates the instruments.
    """

    def __init__(self, meter: Meter) -> None:
        def histogram(name: str, what: str) -> Histogram:
            bounds = list(names.SECONDS)
            return meter.create_histogram(
                name, "s", what, explicit_bucket_boundaries_advisory=bounds
            )

        self._operations = histogram(
            names.CLIENT_DURATION, "Duration of sending, receiving and settling."
        )
        self._processes = histogram(
            names.PROCESS_DURATION, "Duration of processing a task or message."
        )
        self._calls = histogram(names.CALL_DURATION, "Duration of calls to the server.")
        self._waits = histogram(names.WAIT_DURATION, "Duration of waiting for a lock or semaphore.")
        self._loads = histogram(names.LOAD_DURATION, "Duration of loading rows from their source.")
        self._function_calls = histogram(
            names.FUNCTION_DURATION, "Duration of calls of cached functions."
        )
        self._lateness = histogram(
            names.LATENESS, "Delay from the instant of an occurrence until it was enqueued."
        )
        self._sent = meter.create_counter(names.SENT, "{message}", "Tasks and messages sent.")
        self._consumed = meter.create_counter(
            names.CONSUMED, "{message}", "Tasks and messages received or processed."
        )
        self._loaded = meter.create_counter(
            names.LOADED, "{row}", "Rows requested from their source."
        )
        self._counters = {
            "lost": meter.create_counter(names.LOST, "{lease}", "Leases lost."),
            "rows": meter.create_counter(names.REQUESTS, "{row}", "Rows requested from the cache."),
            "results": meter.create_counter(
                names.RESULTS, "{result}", "Requested results of functions."
            ),
            "occurrences": meter.create_counter(
                names.OCCURRENCES, "{occurrence}", "Occurrences of schedules."
            ),
            "events": meter.create_counter(names.TASK_EVENTS, "{event}", "Events of tasks."),
        }

    def count(self, what: What, unit: Unit, amount: int, result: str) -> None:
        """Implement `Telemetry.count`."""
        attributes: Attributes = {names.UNIT_KIND: unit.kind}
        if what in ("rows", "results"):
            attributes = {names.UNIT_NAME: unit.name, names.RESULT: result}
        elif what in {"occurrences", "events"}:
            attributes = {names.DESTINATION: unit.name, names.RESULT: result}
        if amount:
            self._counters[what].add(amount, attributes)

    def delayed(self, what: Delay, unit: Unit, seconds: float) -> None:
        """Record a delay; see `Telemetry.delayed`."""
        del what  # There is only one kind of delay.
        self._lateness.record(seconds, {names.DESTINATION: unit.name})

    def ended(
        self,
        verb: Verb,
        unit: Unit,
        amount: int,
        facts: Mapping[str, Fact],
        seconds: float,
        outcome: str,
        error: str,
    ) -> None:
        """Record the duration and the amount of an operation that has ended.

        Args:
            verb: kind of the operation.
            unit: unit of the operation.
            amount: number of tasks, messages or rows.
            facts: further properties of the operation.
            seconds: duration of the operation.
            outcome: result that the operation reported; empty if none.
            error: class name of the error; empty if it succeeded.
        """
        failed: Attributes = {names.ERROR: error} if error else {}
        match verb:
            case "call":
                self._called(unit, str(facts.get("script", "")), seconds, failed)
            case "wait":
                of: Attributes = {names.UNIT_KIND: unit.kind, names.OUTCOME: outcome or "failed"}
                self._waits.record(seconds, of | failed)
            case "load" if unit.kind == names.CACHED:
                self._function_calls.record(seconds, {names.UNIT_NAME: unit.name, **failed})
            case "load":
                of = {names.UNIT_NAME: unit.name, **failed}
                self._loads.record(seconds, of)
                self._loaded.add(amount, of)
            case "process":
                of = _messaging(unit, "process", "process")
                self._consumed.add(amount, of)
                of |= {names.TASK: facts["task"]} if facts.get("task") else {}
                of |= {names.OUTCOME: outcome} if outcome else {}
                self._processes.record(seconds, of | failed)
            case "send" | "receive":
                of = _messaging(unit, verb, verb) | failed
                self._operations.record(seconds, of)
                counter = self._sent if verb == "send" else self._consumed
                counter.add(amount, of)

    def _called(self, unit: Unit, script: str, seconds: float, failed: Attributes) -> None:
        self._calls.record(seconds, {names.SCRIPT: script, **failed})
        if script in names.SETTLING:
            of = _messaging(unit, names.SETTLING[script], "settle")
            self._operations.record(seconds, of | failed)


def _messaging(unit: Unit, operation: str, kind: str) -> Attributes:
    """Return attributes for metrics: the kind of a unit, and its name only if it is a queue."""
    found: Attributes = {
        names.SYSTEM: names.HOLDFAST,
        names.OPERATION: operation,
        names.OPERATION_TYPE: kind,
    }
    if unit.kind != names.QUEUE:
        found[names.TEMPLATE] = unit.kind
    elif unit.name:
        found[names.DESTINATION] = unit.name
    return found
