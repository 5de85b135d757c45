"""Make routes of FastAPI idempotent."""

from __future__ import annotations

from typing import Any

from fastapi.routing import APIRoute
from starlette.types import Receive, Scope, Send

from .idempotency import IdempotencyMiddleware, UserOf


def idempotent_route(*, user: UserOf, **options: Any) -> type[APIRoute]:
    """Return a class for `APIRouter(route_class=…)`: its routes run a request with a key once.

    Args:
        user: see `IdempotencyMiddleware`.
        options: the other options of `IdempotencyMiddleware`, such as `required=True`.

    Raises:
        TypeError: `IdempotencyMiddleware` has no such option.
    """

    class IdempotentRoute(APIRoute):
        """Answers a repeated request with the response to the first one."""

        def __init__(self, *args: Any, **kwargs: Any) -> None:
            super().__init__(*args, **kwargs)
            self._idempotent = IdempotencyMiddleware(super().handle, user=user, **options)

        async def handle(self, scope: Scope, receive: Receive, send: Send) -> None:
            await self._idempotent(scope, receive, send)

    IdempotencyMiddleware(_no_app, user=user, **options)  # raise for a wrong option now
    return IdempotentRoute


async def _no_app(scope: Scope, receive: Receive, send: Send) -> None:
    """Stand for an application that never runs."""
