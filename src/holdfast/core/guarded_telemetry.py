"""Keep exceptions of a telemetry away from the operations that it records."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping
from contextlib import AbstractContextManager
from types import TracebackType
from typing import Final

from ..errors.one_line_logger import logger_of
from .error_text import described, log_safely
from .names import Unit
from .telemetry import NO_FACTS, Activity, Delay, Fact, Telemetry, Verb, What
from .trace import TraceContext, current_trace

_log: Final = logger_of("holdfast.telemetry")

_TEXT_LIMIT: Final = 500
"""Characters of an exception that are logged."""


def guarded(telemetry: Telemetry | None) -> GuardedTelemetry | None:
    """Return *telemetry* in a guard; None if it is None.

    Raises:
        TypeError: it is not a telemetry.
    """
    if telemetry is None or isinstance(telemetry, GuardedTelemetry):
        return telemetry
    methods = (getattr(telemetry, name, None) for name in ("during", "count", "delayed"))
    if isinstance(telemetry, type) or not all(map(callable, methods)):
        kind = telemetry.__name__ if isinstance(telemetry, type) else type(telemetry).__name__
        what = f"the class {kind}" if isinstance(telemetry, type) else kind
        raise TypeError(
            "telemetry must be an object with the methods during, count and delayed, such as "
            f"OpenTelemetry(), or None, got {what}"
        )
    return GuardedTelemetry(telemetry)


class TelemetryFailures:
    """Logs the first exception of a telemetry.

    Args:
        name: name of the telemetry in the log.
    """

    def __init__(self, name: str) -> None:
        self._name = name
        self._has_logged = False

    def add(self, error: Exception) -> None:
        """Log *error* on one line, if it is the first one."""
        if self._has_logged:
            return
        self._has_logged = True
        log_safely(
            _log,
            logging.WARNING,
            "the telemetry %s raised an exception at %s: spans or metrics are lost; its further "
            "exceptions are not logged: %s",
            self._name,
            _line_of(error.__traceback__),
            described(error, _TEXT_LIMIT),
        )


class GuardedTelemetry:
    """Passes each call to a telemetry. An exception of it is logged and reaches no operation.

    A task that succeeded must not fail, and a granted lock must not be lost, because something
    could not be recorded. A telemetry cannot suppress the exception of an operation, either.

    Args:
        telemetry: the telemetry of the user.
    """

    def __init__(self, telemetry: Telemetry) -> None:
        self._telemetry = telemetry
        self._failures = TelemetryFailures(type(telemetry).__name__)

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
        recorded = None
        try:
            recorded = self._telemetry.during(verb, unit, amount=amount, trace=trace, facts=facts)
        except Exception as error:  # noqa: BLE001 (see the class)
            self._failures.add(error)
        return _GuardedActivity(self._failures, recorded)

    def count(self, what: What, unit: Unit, amount: int, result: str) -> None:
        """Implement `Telemetry.count`."""
        try:
            self._telemetry.count(what, unit, amount, result)
        except Exception as error:  # noqa: BLE001 (see the class)
            self._failures.add(error)

    def delayed(self, what: Delay, unit: Unit, seconds: float) -> None:
        """Implement `Telemetry.delayed`."""
        try:
            self._telemetry.delayed(what, unit, seconds)
        except Exception as error:  # noqa: BLE001 (see the class)
            self._failures.add(error)


class _GuardedActivity:
    """Implement `Activity` with one of a telemetry.

    Args:
        failures: takes the exceptions of the telemetry.
        recorded: what `during` of the telemetry returned; None if it raised.
    """

    __slots__ = ("_activity", "_failures", "_recorded")

    def __init__(
        self, failures: TelemetryFailures, recorded: AbstractContextManager[Activity] | None
    ) -> None:
        self._failures = failures
        self._recorded = recorded
        self._activity: Activity | None = None

    def __enter__(self) -> Activity:
        if self._recorded is not None:
            try:
                self._activity = self._recorded.__enter__()
            except Exception as error:  # noqa: BLE001 (see `GuardedTelemetry`)
                self._recorded = None
                self._failures.add(error)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        raised: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self._recorded is None:
            return
        try:
            self._recorded.__exit__(kind, raised, traceback)
        except Exception as error:  # noqa: BLE001 (see `GuardedTelemetry`)
            if error is not raised:
                self._failures.add(error)

    @property
    def trace(self) -> TraceContext | None:
        """Implement `Activity.trace`; without an activity, tasks continue the current trace."""
        if self._activity is None:
            return current_trace()
        try:
            return _checked(self._activity.trace)
        except Exception as error:  # noqa: BLE001 (see `GuardedTelemetry`)
            self._failures.add(error)
            return current_trace()

    def received(self, messages: int, traces: Iterable[TraceContext]) -> None:
        """Implement `Activity.received`."""
        if self._activity is not None:
            try:
                self._activity.received(messages, traces)
            except Exception as error:  # noqa: BLE001 (see `GuardedTelemetry`)
                self._failures.add(error)

    def ended(self, outcome: str, error: str = "") -> None:
        """Implement `Activity.ended`."""
        if self._activity is not None:
            try:
                self._activity.ended(outcome, error)
            except Exception as problem:  # noqa: BLE001 (see `GuardedTelemetry`)
                self._failures.add(problem)


def _checked(trace: object) -> TraceContext | None:
    if isinstance(trace, TraceContext | None):
        return trace
    raise TypeError(f"Activity.trace must be a TraceContext or None, got {type(trace).__name__}")


def _line_of(traceback: TracebackType | None) -> str:
    """Return the file and line where an exception with *traceback* was raised."""
    if traceback is None:
        return "an unknown line"
    while traceback.tb_next is not None:
        traceback = traceback.tb_next
    return f"{traceback.tb_frame.f_code.co_filename}:{traceback.tb_lineno}"
