"""The gateway, mailboxes and chats over HTTP and WebSocket; and the dashboard of every block.

`gateway(hf, …)`, `dashboard(hf, …)` and `metrics(hf, …)` are applications of Starlette, to be
served or mounted; `holdfast serve` serves all. They use only public names of the package, and need
its extra: `pip install 'holdfast[web]'`.
"""

from __future__ import annotations

from typing import Final

_NEEDED: Final = ("jinja2", "prometheus_client", "starlette", "uvicorn", "websockets")

try:
    from .app import gateway
    from .authenticator import Authenticator
    from .dashboard import Access, Passes, Role, Visitor, dashboard
    from .limits import Limits, Rate
    from .metrics import metrics
    from .revocation import revoke
    from .server import Server
    from .tokens import Tokens
except ModuleNotFoundError as error:
    if (error.name or "").partition(".")[0] not in _NEEDED:
        raise
    raise ModuleNotFoundError(
        "the gateway and the dashboard need an extra: run `pip install 'holdfast[web]'`",
        name=error.name,
    ) from None

__all__: Final = [
    "Access",
    "Authenticator",
    "Limits",
    "Passes",
    "Rate",
    "Role",
    "Server",
    "Tokens",
    "Visitor",
    "dashboard",
    "gateway",
    "metrics",
    "revoke",
]
