"""Export the activity of clients to OpenTelemetry (extra `otel`).

Import `opentelemetry` only when an `OpenTelemetry` is created, so that it stays optional.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Literal

from ..core.names import Unit
from ..core.telemetry import NO_FACTS, Activity, Delay, Fact, Verb, What
from ..core.trace import TraceContext

if TYPE_CHECKING:
    from opentelemetry.metrics import MeterProvider
    from opentelemetry.trace import TracerProvider


class OpenTelemetry:
    """Records spans and metrics of a client: `Holdfast(…, telemetry=OpenTelemetry())`.

    Spans and metrics contain names of units, tasks and errors, but no arguments, messages, results
    or error texts. Without a configured SDK of OpenTelemetry nothing is recorded, and a call costs
    a few microseconds more.

    Args:
        tracer_provider: receives the spans; by default the global provider.
        meter_provider: receives the metrics; by default the global provider.

    Raises:
        ModuleNotFoundError: `opentelemetry-api` is not installed.
    """

    def __init__(
        self,
        *,
        tracer_provider: TracerProvider | None = None,
        meter_provider: MeterProvider | None = None,
    ) -> None:
        try:
            from .spans import Spans
        except ModuleNotFoundError as error:
            if (error.name or "").partition(".")[0] != "opentelemetry":
                raise
            hint = (
                "OpenTelemetry needs an extra: install `holdfast[otel]` from where you got Holdfast"
            )
            raise ModuleNotFoundError(hint, name=error.name) from None
        self._spans = Spans(tracer_provider, meter_provider)

    def process(
        self, kind: Literal["mailbox", "chat"], name: str, trace: TraceContext | None
    ) -> AbstractContextManager[Activity]:
        """Return a context manager: the span `process mailbox` or `process chat` of a message.

        Args:
            kind: whether the message comes from a mailbox or a chat.
            name: name of the mailbox or chat: `batch.source`.
            trace: trace of the message: `message.trace`.
        """
        return self.during("process", Unit(kind, name, "", 0), trace=trace)

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
        return self._spans.during(verb, unit, amount=amount, trace=trace, facts=facts)

    def count(self, what: What, unit: Unit, amount: int, result: str) -> None:
        """Implement `Telemetry.count`."""
        self._spans.count(what, unit, amount, result)

    def delayed(self, what: Delay, unit: Unit, seconds: float) -> None:
        """Implement `Telemetry.delayed`."""
        self._spans.delayed(what, unit, seconds)
