"""The one seam for telemetry: what a client does, told to whoever it was given to.

A client that was given nobody tells nothing: `during` then costs a call and no more.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import AbstractContextManager
from types import MappingProxyType
from typing import Final, Literal, Protocol

from .names import Unit
from .trace import TraceContext, current_trace

Verb = Literal["send", "receive", "process", "wait", "load", "call"]
"""Tasks or messages are sent, messages received, a task is processed; somebody waits for a lock;
rows are loaded from their source; a script is called."""

What = Literal["lost", "rows"]
"""A lease was lost; rows were asked for."""

Fact = str | int
NO_FACTS: Final[Mapping[str, Fact]] = MappingProxyType({})


class Activity(Protocol):
    """Something that goes on."""

    @property
    def trace(self) -> TraceContext | None:
        """What travels with what is sent here."""

    def received(self, messages: int, traces: Iterable[TraceContext]) -> None:
        """So many messages came, some of which belong to *traces*."""

    def ended(self, outcome: str, error: str = "") -> None:
        """How it ended, unless by an exception: in a word, and of which type the error was."""


class Telemetry(Protocol):
    """Is told what a client does. `OpenTelemetry` and `PrometheusMetrics` are two.

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
        """A context for as long as something goes on.

        Args:
            verb: what.
            unit: with which lock, queue, mailbox …
            amount: tasks, messages or rows that it is about.
            trace: it was sent in.
            facts: of a call the `script`; of a task its `id`, `task` (its
                name; empty if no worker here knows it) and `attempt`.
        """

    def count(self, what: What, unit: Unit, amount: int, result: str) -> None:
        """So many times something happened, with that result: how rows were found."""


class _Untold:
    """What goes on and is told to nobody; the trace is passed on all the same."""

    def __enter__(self) -> Activity:
        return self

    def __exit__(self, *ended: object) -> None:
        return None

    @property
    def trace(self) -> TraceContext | None:
        return current_trace()

    def received(self, messages: int, traces: Iterable[TraceContext]) -> None:
        """Tell nobody."""

    def ended(self, outcome: str, error: str = "") -> None:
        """Tell nobody."""


_UNTOLD: Final = _Untold()


def during(
    telemetry: Telemetry | None,
    verb: Verb,
    unit: Unit,
    *,
    amount: int = 1,
    trace: TraceContext | None = None,
    facts: Mapping[str, Fact] = NO_FACTS,
) -> AbstractContextManager[Activity]:
    """A context for as long as something goes on; see `Telemetry.during`."""
    if telemetry is None:
        return _UNTOLD
    return telemetry.during(verb, unit, amount=amount, trace=trace, facts=facts)
