"""Export the activity of one process as Prometheus metrics (extra `prometheus`).

Import `prometheus_client` only when a `PrometheusMetrics` is created, so that it stays optional.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING

from ..core.names import Unit
from ..core.telemetry import NO_FACTS, Activity, Delay, Fact, Verb, What
from ..core.trace import TraceContext

if TYPE_CHECKING:
    from prometheus_client import CollectorRegistry


class PrometheusMetrics:
    """Records metrics of one or several clients: `Holdfast(…, telemetry=PrometheusMetrics())`.

    These metrics describe the calls of this process. For metrics of the server's data, such as the
    length of queues, scrape `/metrics` of `holdfast serve`.

    Args:
        registry: a registry of `prometheus_client` for the metrics; by default the global registry.
            A registry accepts only one `PrometheusMetrics`.

    Raises:
        ModuleNotFoundError: `prometheus-client` is not installed.
    """

    def __init__(self, registry: CollectorRegistry | None = None) -> None:
        try:
            from .meters import Meters
        except ModuleNotFoundError as error:
            if (error.name or "").partition(".")[0] != "prometheus_client":
                raise
            hint = (
                "metrics need an extra: install `holdfast[prometheus]` from where you got Holdfast"
            )
            raise ModuleNotFoundError(hint, name=error.name) from None
        self._meters = Meters(registry)

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
        del trace  # Metrics have no traces.
        return self._meters.during(verb, unit, amount, facts)

    def count(self, what: What, unit: Unit, amount: int, result: str) -> None:
        """Implement `Telemetry.count`."""
        self._meters.count(what, unit, amount, result)

    def delayed(self, what: Delay, unit: Unit, seconds: float) -> None:
        """Implement `Telemetry.delayed`."""
        self._meters.delayed(what, unit, seconds)
