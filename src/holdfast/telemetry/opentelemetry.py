"""What a client does, for OpenTelemetry (extra `otel`). Nothing of it is imported before."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Literal

from ..core.names import Unit
from ..core.telemetry import NO_FACTS, Activity, Fact, Verb, What
from ..core.trace import TraceContext

if TYPE_CHECKING:
    from opentelemetry.metrics import MeterProvider
    from opentelemetry.trace import TracerProvider


class OpenTelemetry:
    """Reports to OpenTelemetry what a client does: `Holdfast(…, telemetry=OpenTelemetry())`.

    Without an SDK, or before it is set up, this costs microseconds and records nothing. Names of
    units, tasks and errors are recorded, never arguments, bodies, results or what errors say.

    Args:
        tracer_provider: where spans go; by default the global one.
        meter_provider: where metrics go; likewise.

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
            hint = "OpenTelemetry needs an extra: run `pip install 'holdfast[otel]'`"
            raise ModuleNotFoundError(hint, name=error.name) from None
        self._spans = Spans(tracer_provider, meter_provider)

    def process(
        self, kind: Literal["mailbox", "chat"], name: str, trace: TraceContext | None
    ) -> AbstractContextManager[Activity]:
        """Return a context that processes a message: the span `process mailbox` or `process chat`.

        Args:
            kind: where it came from.
            name: of that: `batch.source`.
            trace: `message.trace`.
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
        """Implement the method of `Telemetry`."""
        return self._spans.during(verb, unit, amount=amount, trace=trace, facts=facts)

    def count(self, what: What, unit: Unit, amount: int, result: str) -> None:
        """Implement the method of `Telemetry`."""
        self._spans.count(what, unit, amount, result)
