"""Metrics of a worker, for a Prometheus on the same machine."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from socketserver import ThreadingMixIn
from typing import TYPE_CHECKING, Any
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer, make_server

from ..errors.records import logger_of
from .connection import fail

if TYPE_CHECKING:
    from .. import PrometheusMetrics

logger = logger_of("holdfast.worker")

HOST = "127.0.0.1"

App = Callable[[dict[str, Any], Callable[..., Any]], Iterable[bytes]]


class _MetricsServer(ThreadingMixIn, WSGIServer):
    daemon_threads = True


class _QuietHandler(WSGIRequestHandler):
    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 (as the base has it)
        """Log nothing: a scrape comes every few seconds."""


@contextmanager
def metrics_served(port: int | None) -> Iterator[PrometheusMetrics | None]:
    """Serve metrics of this process on the loopback within the context.

    Args:
        port: where to listen; 0 takes a free one, None serves nothing.
    """
    if port is None:
        yield None
        return
    try:
        from prometheus_client import CollectorRegistry, make_wsgi_app
        from prometheus_client.process_collector import ProcessCollector
    except ModuleNotFoundError:
        fail("--metrics needs an extra: run `pip install 'holdfast[prometheus]'`")
    from .. import PrometheusMetrics

    registry = CollectorRegistry()
    ProcessCollector(registry=registry)
    app = _loopback_only(make_wsgi_app(registry))
    try:
        server = make_server(HOST, port, app, _MetricsServer, _QuietHandler)
    except OSError as error:
        fail(f"cannot listen on {HOST}, port {port}: {error.strerror or error}")
    thread = threading.Thread(target=server.serve_forever, name="holdfast metrics", daemon=True)
    thread.start()
    logger.info("metrics at http://%s:%d/metrics", HOST, server.server_port)
    try:
        yield PrometheusMetrics(registry)
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def _loopback_only(app: App) -> App:
    """Refuse requests for other hosts: their names may resolve to the loopback (DNS rebinding)."""

    def guarded(environ: dict[str, Any], start: Callable[..., Any]) -> Iterable[bytes]:
        host = environ.get("HTTP_HOST", "").rpartition(":")[0] or environ.get("HTTP_HOST", "")
        if host in (HOST, "localhost"):
            return app(environ, start)
        start("421 Misdirected Request", [("Content-Type", "text/plain")])
        return [b"this host is not served here\n"]

    return guarded
