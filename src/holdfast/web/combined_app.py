"""Combine the gateway, the dashboard and the metrics into the application of `holdfast serve`."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Final

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Mount, Route

DASHBOARD: Final = "/dashboard"
HOME: Final = f"{DASHBOARD}/"
METRICS: Final = "/metrics"


def combined_app(gateway: Starlette, dashboard: Starlette, metrics: Starlette) -> Starlette:
    """Return *gateway* with *dashboard* mounted at `/dashboard` and *metrics* at `/metrics`."""
    app = Starlette(
        routes=[
            Route(DASHBOARD, redirect_to(HOME)),
            Mount(DASHBOARD, dashboard),
            Route(METRICS, metrics),
        ]
    )
    app.router.redirect_slashes = False
    app.router.default = gateway  # a mount matches no path with a line break
    app.state.shared = gateway.state.shared
    return app


def redirect_to(path: str) -> Callable[[Request], Awaitable[Response]]:
    """Return an endpoint that redirects to *path* of the same application."""

    async def redirect(request: Request) -> Response:
        return RedirectResponse(f"{request.scope.get('root_path', '')}{path}", 307)

    return redirect
