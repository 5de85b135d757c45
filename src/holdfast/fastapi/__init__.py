"""Connect FastAPI and Starlette applications with Holdfast (extra `fastapi`).

Everything but `RequestLimit` and `idempotent_route` works with Starlette alone.
"""

from __future__ import annotations

from typing import Final

try:
    from .client import Client, holdfast, lifespan
    from .idempotency import IdempotencyMiddleware
    from .idempotent_route import idempotent_route
    from .request_limit import RequestLimit
    from .task_events import task_events
except ModuleNotFoundError as _missing:
    if (_missing.name or "").partition(".")[0] not in ("fastapi", "starlette"):
        raise
    raise ModuleNotFoundError(
        "holdfast.fastapi needs an extra: install `holdfast[fastapi]` from where you got Holdfast",
        name=_missing.name,
    ) from None

__all__: Final = [
    "Client",
    "IdempotencyMiddleware",
    "RequestLimit",
    "holdfast",
    "idempotent_route",
    "lifespan",
    "task_events",
]
