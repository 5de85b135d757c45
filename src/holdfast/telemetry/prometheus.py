"""What one process does, for Prometheus (extra `prometheus`). Nothing of it is imported before."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING

from ..core.names import Unit
from ..core.telemetry import NO_FACTS, Activity, Fact, Verb, What
from ..core.trace import TraceContext

if TYPE_CHECKING:
    from prometheus_client import CollectorRegistry


class PrometheusMetrics:
    """Counts and measures what a client of this process does, for Prometheus.

    Give it to one client or several: `Holdfast(…, telemetry=PrometheusMetrics(registry))`. How the
    queues and everything else stand is not its affair: `holdfast serve` tells that at `/metrics`.

    Args:
        registry: where the metrics are registered, of `prometheus_client`; by default its global
            one, in which there can be one of these only.

    Raises:
        ModuleNotFoundError: `prometheus-client` is not installed.
    """

    def __init__(self, registry: CollectorRegistry | None = None) -> None:
        try:
            from .meters import Meters
        except ModuleNotFoundError as error:
            if (error.name or "").partition(".")[0] != "prometheus_client":
                raise
            hint = "metrics need an extra: run `pip install 'holdfast[prometheus]'`"
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
        """Implement the method of `Telemetry`."""
        del trace  # it is passed on as it is
        return self._meters.during(verb, unit, amount, facts)

    def count(self, what: What, unit: Unit, amount: int, result: str) -> None:
        """Implement the method of `Telemetry`."""
        self._meters.count(what, unit, amount, result)
