"""The gateway on a socket: what `holdfast serve` runs."""

from __future__ import annotations

import signal
import socket
import threading
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from typing import Any, Final

import uvicorn
from starlette.applications import Starlette

from .gate import Gate
from .protocols import Config, Http, Socket
from .watch import Watch

GRACE_S: Final = 10
"""How long requests under way may take at the end. Those that only wait are answered at once."""

PING_S: Final = 20.0


class Server(uvicorn.Server):
    """uvicorn, which answers those who wait before it stops, and ends by Ctrl-C without an error.

    Args:
        app: made by `gateway`.
        proxies: addresses and networks whose `X-Forwarded-For` and `-Proto` are believed.
        ready: called once when connections are taken.

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
        gate: Gate[Any] = app.state.gate
        watch = Watch(gate.limits, proxies)
        config = Config(
            app,
            http=Http,
            ws=Socket,
            ws_max_size=gate.limits.request_bytes,
            ws_per_message_deflate=False,  # a few bytes would become many large frames
            ws_ping_interval=PING_S,
            ws_ping_timeout=PING_S,
            proxy_headers=bool(proxies),
            forwarded_allow_ips=list(proxies),
            server_header=False,
            access_log=False,  # it would hold all that clients put into a URL
            log_config=None,
            lifespan="off",
            limit_concurrency=watch.most,
            timeout_graceful_shutdown=GRACE_S,
        )
        config.watch = watch
        super().__init__(config)
        self._gate = gate
        self._ready = ready

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Take connections."""
        await super().startup(sockets)
        self._ready()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Answer whoever waits, then everybody else, and stop."""
        self._gate.closing.set()
        await super().shutdown(sockets)

    @contextmanager
    def capture_signals(self) -> Generator[None, None, None]:
        """End by SIGINT and SIGTERM in good order; by a second SIGINT at once."""
        if threading.current_thread() is not threading.main_thread():  # who alone may catch them
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
    """A socket that takes connections at *host* and *port*; 0 is a free port.

    Raises:
        OSError: there is no such address here, or somebody else has the port.
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
