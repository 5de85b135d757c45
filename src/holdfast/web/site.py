"""The gateway, the dashboard and the metrics beside each other: what `holdfast serve` serves."""

from __future__ import annotations

from typing import Final

from starlette.applications import Starlette
from starlette.routing import Mount, Route

from .redirect import leading_to

DASHBOARD: Final = "/dashboard"
HOME: Final = f"{DASHBOARD}/"
METRICS: Final = "/metrics"


def site(gateway: Starlette, dashboard: Starlette, metrics: Starlette) -> Starlette:
    """*gateway* as it is, *dashboard* below `/dashboard`, and *metrics* at `/metrics`."""
    app = Starlette(
        routes=[
            Route(DASHBOARD, leading_to(HOME)),
            Mount(DASHBOARD, dashboard),
            Route(METRICS, metrics),
        ]
    )
    app.router.redirect_slashes = False
    app.router.default = gateway  # a mount would not take every path: none with a line break in it
    app.state.gate = gateway.state.gate
    return app
