"""The gateway: mailboxes and chats over HTTP and WebSocket, for clients in any language.

`gateway(hf, …)` is an application of Starlette, to be served or mounted; `holdfast serve` serves
it. It uses only public names of the package, and needs its extra: `pip install 'holdfast[web]'`.
"""

from __future__ import annotations

from typing import Final

try:
    from .app import gateway
    from .authenticator import Authenticator
    from .limits import Limits, Rate
    from .server import Server
    from .tokens import Tokens
except ModuleNotFoundError as error:
    if (error.name or "").partition(".")[0] not in ("starlette", "uvicorn", "websockets"):
        raise
    raise ModuleNotFoundError(
        "the gateway needs an extra: run `pip install 'holdfast[web]'`", name=error.name
    ) from None

__all__: Final = ["Authenticator", "Limits", "Rate", "Server", "Tokens", "gateway"]
