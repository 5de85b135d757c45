"""`/v1/stream`: everything of a user on one WebSocket, resumed where the device left off."""

from __future__ import annotations

from typing import Final

from starlette.routing import WebSocketRoute

from .session import stream

ROUTES: Final = [WebSocketRoute("/v1/stream", stream)]
