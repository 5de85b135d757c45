"""The interface between a client and its telemetry.

Without telemetry, `during` costs a call and no more.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import AbstractContextManager
from types import MappingProxyType
from typing import Final, Literal, Protocol

from .names import Unit
from .trace import TraceContext, current_trace

Verb = Literal["send", "receive", "process", "wait", "load", "call"]
"""Tasks or messages are sent, messages received, a task is processed; a caller waits for a lock;
rows are loaded from their source; a script is called."""

What = Literal["lost", "rows"]
"""A lease was lost; rows were asked for."""

Fact = str | int
NO_FACTS: Final[Mapping[str, Fact]] = MappingProxyType({})


class Activity(Protocol):
    """An operation in progress."""

    @property
    def trace(self) -> TraceContext | None:
        """Return the trace that is sent along."""

    def received(self, messages: int, traces: Iterable[TraceContext]) -> None:
        """Report that *messages* were received, and the *traces* of those that have one."""

    def ended(self, outcome: str, error: str = "") -> None:
        """Report how it ended, unless by an exception: a word, and the type of the error."""


class Telemetry(Protocol):
    """Records what a client does. `OpenTelemetry` and `PrometheusMetrics` are two kinds.

    Its methods are called from every thread and event loop of the client; they must be quick, and
    raise nothing.
    """

    def during(
        self,
        verb: Verb,
        unit: Unit,
        *,
        amount: int = 1,
        trace: TraceContext | None = None,
        facts: Mapping[str, Fact] = NO_FACTS,
    ) -> AbstractContextManager[Activity]:
        """Return a context for the duration of an operation.

        Args:
            verb: what.
            unit: with which lock, queue, mailbox …
            amount: tasks, messages or rows that it is about.
            trace: it was sent in.
            facts: of a call the `script`; of a task its `id`, `task` (its
                name; empty if no worker here knows it) and `attempt`.
        """

    def count(self, what: What, unit: Unit, amount: int, result: str) -> None:
        """Count events with a result, such as how rows were found."""


class _NoActivity:
    """An operation without telemetry. The trace is passed on all the same."""

    def __enter__(self) -> Activity:
        return self

    def __exit__(self, *ended: object) -> None:
        return None

    @property
    def trace(self) -> TraceContext | None:
        return current_trace()

    def received(self, messages: int, traces: Iterable[TraceContext]) -> None:
        """Do nothing."""

    def ended(self, outcome: str, error: str = "") -> None:
        """Do nothing."""


_NO_ACTIVITY: Final = _NoActivity()


def during(
    telemetry: Telemetry | None,
    verb: Verb,
    unit: Unit,
    *,
    amount: int = 1,
    trace: TraceContext | None = None,
    facts: Mapping[str, Fact] = NO_FACTS,
) -> AbstractContextManager[Activity]:
    """Return a context for the duration of an operation; see `Telemetry.during`."""
    if telemetry is None:
        return _NO_ACTIVITY
    return telemetry.during(verb, unit, amount=amount, trace=trace, facts=facts)
