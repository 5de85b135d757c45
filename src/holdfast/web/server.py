"""Provide the HTTP server that `holdfast serve` runs."""

from __future__ import annotations

import signal
import socket
import threading
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from typing import Any, Final

import uvicorn
from starlette.applications import Starlette

from .connection_limiter import ConnectionLimiter
from .server_protocols import HttpProtocol, ServerConfig, WebSocketProtocol
from .shared_state import SharedState

GRACE_S: Final = 10
"""Seconds that requests get to finish when the server stops."""

PING_S: Final = 20.0
"""Seconds between two WebSocket pings, and seconds within which a client must answer one."""


class Server(uvicorn.Server):
    """Extends the uvicorn server: it ends long polls and streams at once when it stops.

    Args:
        app: the application that `gateway` returned.
        proxies: addresses and networks of proxies. The server trusts their headers
            `X-Forwarded-For` and `X-Forwarded-Proto`.
        ready: called once when the server accepts connections.

    Raises:
        ValueError: an item of *proxies* is neither an address nor a network.
    """

    def __init__(
        self,
        app: Starlette,
        *,
        proxies: Sequence[str] = (),
        ready: Callable[[], None] = lambda: None,
    ) -> None:
        state: SharedState[Any] = app.state.shared
        limiter = ConnectionLimiter(state.limits, proxies)
        config = ServerConfig(
            app,
            http=HttpProtocol,
            ws=WebSocketProtocol,
            ws_max_size=state.limits.request_bytes,
            ws_per_message_deflate=False,  # a few compressed bytes could expand to large frames
            ws_ping_interval=PING_S,
            ws_ping_timeout=PING_S,
            proxy_headers=bool(proxies),
            forwarded_allow_ips=list(proxies),
            server_header=False,
            access_log=False,  # it would contain secrets that clients put into URLs
            log_config=None,
            lifespan="off",
            limit_concurrency=limiter.most,
            timeout_graceful_shutdown=GRACE_S,
        )
        config.limiter = limiter
        super().__init__(config)
        self._state = state
        self._ready = ready

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Accept connections, and call `ready`."""
        await super().startup(sockets)
        self._ready()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """End long polls and streams, finish all other requests, and stop."""
        self._state.closing.set()
        await super().shutdown(sockets)

    @contextmanager
    def capture_signals(self) -> Generator[None, None, None]:
        """Stop gracefully at SIGINT and SIGTERM, and at once at a second SIGINT.

        uvicorn's own method raises the signal again after the stop, which makes Ctrl-C an error.
        """
        if threading.current_thread() is not threading.main_thread():
            yield  # Python allows signal handlers only in the main thread
            return
        before = {
            number: signal.signal(number, self.handle_exit)
            for number in (signal.SIGINT, signal.SIGTERM)
        }
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)


def listening(host: str, port: int) -> socket.socket:
    """Return a socket that is bound to *host* and *port*. Port 0 selects a free port.

    Raises:
        OSError: this machine does not have the address, or the port is in use.
    """
    [family, kind, protocol, _, address] = socket.getaddrinfo(
        host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
    )[0]
    found = socket.socket(family, kind, protocol)
    try:
        found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        found.bind(address)
    except OSError:
        found.close()
        raise
    return found
