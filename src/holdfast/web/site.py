"""The gateway and the dashboard beside each other: what `holdfast serve` serves."""

from __future__ import annotations

from typing import Final

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Mount, Route

DASHBOARD: Final = "/dashboard"


def site(gateway: Starlette, dashboard: Starlette) -> Starlette:
    """*gateway* as it is, and *dashboard* below `/dashboard`, to which `/` leads."""
    app = Starlette(
        routes=[
            Route("/", _to_dashboard),
            Route(DASHBOARD, _to_dashboard),
            Mount(DASHBOARD, dashboard),
            Mount("/", gateway),
        ]
    )
    app.router.redirect_slashes = False
    app.state.gate = gateway.state.gate
    return app


async def _to_dashboard(request: Request) -> Response:
    return RedirectResponse(f"{request.scope.get('root_path', '')}{DASHBOARD}/", 307)
