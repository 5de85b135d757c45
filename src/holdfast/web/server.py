"""The HTTP server that `holdfast serve` runs."""

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
"""Seconds for running requests when the server stops. Those that only wait are answered at once."""

PING_S: Final = 20.0


class Server(uvicorn.Server):
    """uvicorn, which answers waiting requests before it stops and ends by Ctrl-C without an error.

    Args:
        app: made by `gateway`.
        proxies: addresses and networks whose `X-Forwarded-For` and `-Proto` headers are trusted.
        ready: called once when the server accepts connections.

    Raises:
        ValueError: one of *proxies* is neither an address nor a network.
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
            ws_per_message_deflate=False,  # a few bytes could expand to many large frames
            ws_ping_interval=PING_S,
            ws_ping_timeout=PING_S,
            proxy_headers=bool(proxies),
            forwarded_allow_ips=list(proxies),
            server_header=False,
            access_log=False,  # it would contain whatever clients put into a URL
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
        """Accept connections."""
        await super().startup(sockets)
        self._ready()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Answer the requests that wait, finish the others, and stop."""
        self._state.closing.set()
        await super().shutdown(sockets)

    @contextmanager
    def capture_signals(self) -> Generator[None, None, None]:
        """Stop in good order at SIGINT and SIGTERM; at a second SIGINT stop at once."""
        if (
            threading.current_thread() is not threading.main_thread()
        ):  # only the main thread handles signals
            yield
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
    """Return a socket that listens at *host* and *port*; 0 is a free port.

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
