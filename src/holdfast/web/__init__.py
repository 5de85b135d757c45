"""Provide the gateway for mailboxes and chats, the dashboard, and `/metrics`.

`gateway(hf, …)`, `dashboard(hf, …)` and `metrics(hf, …)` return Starlette applications. Serve them,
or mount them in your own application; `holdfast serve` serves all three. They need the extra
`holdfast[web]`.
"""

from __future__ import annotations

from typing import Final

_NEEDED: Final = ("jinja2", "prometheus_client", "starlette", "uvicorn", "websockets")

try:
    from .dashboard.access import Access, Passes, Role, Visitor
    from .dashboard.dashboard_app import dashboard
    from .gateway.gateway_app import gateway
    from .limits import Limits
    from .metrics.metrics_app import metrics
    from .revocation import revoke
    from .server import Server
    from .tokens import Authenticator, Tokens
except ModuleNotFoundError as _missing:
    if (_missing.name or "").partition(".")[0] not in _NEEDED:
        raise
    raise ModuleNotFoundError(
        "the gateway and the dashboard need an extra: "
        "install `holdfast[web]` from where you got Holdfast",
        name=_missing.name,
    ) from None

__all__: Final = [
    "Access",
    "Authenticator",
    "Limits",
    "Passes",
    "Role",
    "Server",
    "Tokens",
    "Visitor",
    "dashboard",
    "gateway",
    "metrics",
    "revoke",
]
