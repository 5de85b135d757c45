"""Paths that only lead to others."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response


def leading_to(path: str) -> Callable[[Request], Awaitable[Response]]:
    """An endpoint that sends its visitors to *path* of the same application, wherever it is."""

    async def lead(request: Request) -> Response:
        return RedirectResponse(f"{request.scope.get('root_path', '')}{path}", 307)

    return lead
