"""Define the interface between a client and its telemetry."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import AbstractContextManager
from types import MappingProxyType
from typing import Final, Literal, Protocol

from .names import Unit
from .trace import TraceContext, current_trace

Verb = Literal["send", "receive", "process", "wait", "load", "call", "step"]
"""Kind of an operation.

- `send`: tasks or messages are sent.
- `receive`: messages are received.
- `process`: a task or message is processed.
- `wait`: a caller waits for a lock or semaphore.
- `load`: rows are loaded from their source, or a cached function is called.
- `call`: a script is called.
- `step`: a step of a task runs.
"""

What = Literal["lost", "rows", "results", "occurrences", "events"]
"""Kind of an event.

- `lost`: a lease was lost.
- `rows`: rows were requested from a row cache.
- `results`: results of a cached function were requested.
- `occurrences`: occurrences of schedules were fired, missed or skipped.
- `events`: events of tasks were stored, dropped or refused.
"""

Delay = Literal["schedule"]
"""Kind of a delay: `schedule`, from the instant of an occurrence until it was enqueued."""

Fact = str | int
NO_FACTS: Final[Mapping[str, Fact]] = MappingProxyType({})


class Activity(Protocol):
    """An operation in progress."""

    @property
    def trace(self) -> TraceContext | None:
        """Return the trace to send with tasks and messages of this operation."""

    def received(self, messages: int, traces: Iterable[TraceContext]) -> None:
        """Report the number of received *messages*, and the *traces* of those that have one."""

    def ended(self, outcome: str, error: str = "") -> None:
        """Report a result; call this before the context ends, unless it ends with an exception.

        Args:
            outcome: the result in one word.
            error: name of the error's class; empty if there was no error.
        """


class Telemetry(Protocol):
    """Records the operations of clients. `OpenTelemetry` and `PrometheusMetrics` implement it.

    All threads and event loops of a client call its methods, so they must be quick. An exception of
    a method, or of an activity that it returned, is kept away from the operation: the task, lock or
    message is as safe as without telemetry. The logger `holdfast.telemetry` warns of the first one.
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
        """Return a context manager for an operation, which lasts as long as the context.

        Args:
            verb: kind of the operation.
            unit: the lock, queue, mailbox or other unit of the operation.
            amount: number of tasks, messages or rows.
            trace: trace in which the processed task or message was sent; None if there is none.
            facts: for `call`, the name of the `script`. For a step, the `id` and the name of its
                `task`, and its own name, `step`. For a processed task, its `id`, its
                `attempt`, and `task`, its name (empty if this worker does not know it).
        """

    def count(self, what: What, unit: Unit, amount: int, result: str) -> None:
        """Count events.

        Args:
            what: kind of the events.
            unit: the unit of the events.
            amount: number of events.
            result: for `rows`, how the rows were found; for `results`, `memory`, `hit`, `stale`,
                `miss` or `direct`; for `occurrences`, `fired`, `missed` or `skipped`; for
                `events`, `stored`, `dropped` (there was no room, or no memory) or `refused` (the
                attempt had lost its claim); otherwise empty.
        """

    def delayed(self, what: Delay, unit: Unit, seconds: float) -> None:
        """Record a delay that the server's clock measured.

        Args:
            what: kind of the delay.
            unit: the queue of the schedule.
            seconds: length of the delay.
        """


class _NoActivity:
    """An operation that is not recorded. Tasks and messages continue the current trace."""

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
    """Return a context manager for an operation; see `Telemetry.during`."""
    if telemetry is None:
        return _NO_ACTIVITY
    return telemetry.during(verb, unit, amount=amount, trace=trace, facts=facts)
