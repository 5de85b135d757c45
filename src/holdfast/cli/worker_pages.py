"""Serve the pages of `holdfast worker`: `/livez`, `/readyz` and `/metrics`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Final, Protocol

from ..errors.one_line_logger import logger_of
from .connection import fail
from .pages import ListenAddress, Status, TextPage

if TYPE_CHECKING:
    from prometheus_client import CollectorRegistry

    from .. import PrometheusMetrics

logger: Final = logger_of("holdfast.worker")

Pages = dict[str, Callable[[], TextPage]]


class Health(Protocol):
    """Reports the health of a worker, or of a group of worker processes."""

    def not_alive(self, blocked_s: float) -> str:
        """Return why the worker should be restarted; empty if it should not be."""

    def not_ready(self) -> str:
        """Return why the worker claims no tasks; empty if it claims them."""


class WorkerPages:
    """Holds the pages that `holdfast worker` serves over HTTP.

    Args:
        health: address of `/livez` and `/readyz`; None: do not serve them.
        metrics: address of `/metrics`, which may be the same; None: do not serve it.
        blocked_s: seconds after which `/livez` fails if a task blocks the event loop.

    Attributes:
        telemetry: receives the measurements of the client; None: there are no metrics.
        report: returns the health of the worker or group; returns None while it starts.
    """

    def __init__(self, health: str | None, metrics: str | None, blocked_s: float) -> None:
        self.telemetry: PrometheusMetrics | None = None
        self.report: Callable[[], Health] | None = None
        self._blocked_s = blocked_s
        self._sites: dict[ListenAddress, Pages] = {}
        if health is not None:
            self._add(ListenAddress.parsed(health, "--health"), "/livez", self._live)
            self._add(ListenAddress.parsed(health, "--health"), "/readyz", self._ready)
        if metrics is not None:
            address = ListenAddress.parsed(metrics, "--metrics")
            self.telemetry, registry = _telemetry()
            self._add(address, "/metrics", lambda: _metrics(registry))

    @contextmanager
    def served(self) -> Iterator[None]:
        """Serve the pages within the context."""
        from .page_server import PageServer  # imported here, because `--help` needs no asyncio

        with ExitStack() as closing:
            for address, pages in self._sites.items():
                server = PageServer(address, pages)
                closing.callback(server.close)
                if "/livez" in pages:
                    logger.info("health at %s/livez and %s/readyz", server.url, server.url)
                if "/metrics" in pages:
                    logger.info("metrics at %s/metrics", server.url)
            yield

    def _add(self, address: ListenAddress, path: str, page: Callable[[], TextPage]) -> None:
        self._sites.setdefault(address, {})[path] = page

    def _live(self) -> TextPage:
        report = self.report
        return _page("" if report is None else report().not_alive(self._blocked_s))

    def _ready(self) -> TextPage:
        report = self.report
        return _page("the worker is starting" if report is None else report().not_ready())


def _page(problem: str) -> TextPage:
    """Return the page that answers a probe: *problem*, or that all is well if it is empty."""
    if problem:
        return TextPage.of_text(problem, Status.SERVICE_UNAVAILABLE)
    return TextPage.of_text("ok")


def _telemetry() -> tuple[PrometheusMetrics, CollectorRegistry]:
    """Return new metrics and their registry. End the command if the extra is missing."""
    try:
        from prometheus_client import CollectorRegistry
        from prometheus_client.process_collector import ProcessCollector
    except ModuleNotFoundError:
        fail("--metrics needs an extra: install `holdfast[prometheus]` from where you got Holdfast")
    from .. import PrometheusMetrics

    registry = CollectorRegistry()
    ProcessCollector(registry=registry)
    return PrometheusMetrics(registry), registry


def _metrics(registry: CollectorRegistry) -> TextPage:
    from prometheus_client.exposition import choose_encoder

    encoder, content_type = choose_encoder("")
    return TextPage(encoder(registry), content_type=content_type)
