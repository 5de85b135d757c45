"""A gateway that runs in a thread of the test."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import httpx

from holdfast import AsyncHoldfast, Chat, Holdfast
from holdfast.web import Limits, Passes, Role, Server, Tokens, dashboard, gateway, metrics
from holdfast.web.combined_app import combined_app
from holdfast.web.server import listening

SECRET = b"a secret of the tests, 32 bytes or more"
PATIENCE_S = 60.0


@dataclass
class RunningApp:
    """A gateway, and what a test needs to talk to it.

    Attributes:
        port: where it listens, on the loopback.
        tokens: makes tokens that it accepts.
        hf: a client of the same server and namespace.
        chat: one that a test has made.
        passes: those of the dashboard.
    """

    port: int
    tokens: Tokens
    hf: Holdfast
    chat: Chat = field(init=False)
    passes: Passes = field(default_factory=lambda: Passes(SECRET))
    _clients: list[httpx.Client] = field(default_factory=list)

    @property
    def host(self) -> str:
        """Return the value of the header Host."""
        return f"127.0.0.1:{self.port}"

    @property
    def url(self) -> str:
        """Return the base URL of the application."""
        return f"http://{self.host}"

    def of(self, user: str | None, **headers: str) -> httpx.Client:
        """Return an HTTP client with the token of *user*; None sends no token."""
        if user is not None:
            headers["Authorization"] = f"Bearer {self.tokens.issue(user)}"
        return self._client(self.url, headers)

    def visitor(self, role: Role | None, **headers: str) -> httpx.Client:
        """Return a client of the dashboard with a pass for *role*; None sends no pass."""
        if role is not None:
            headers["Authorization"] = f"Bearer {self.passes.issue('ann', role)}"
        return self._client(f"{self.url}/dashboard", headers)

    def login(self, role: Role = "operator", name: str = "ann") -> str:
        """Return the link that logs a browser in."""
        return f"{self.url}/dashboard/login#token={self.passes.issue(name, role)}"

    def close(self) -> None:
        """Close the clients."""
        for client in self._clients:
            client.close()

    def _client(self, base_url: str, headers: dict[str, str]) -> httpx.Client:
        # Without TLS there is nothing to verify, and to read all authorities takes long.
        client = httpx.Client(base_url=base_url, headers=headers, timeout=PATIENCE_S, verify=False)
        self._clients.append(client)
        return client


@contextmanager
def opened(
    url: str, namespace: str, limits: Limits | None = None, **options: Any
) -> Iterator[RunningApp]:
    """Serve a gateway, a dashboard and metrics until the end of the context."""
    tokens = options.pop("authenticator", Tokens(SECRET))
    proxies, clients = options.pop("proxies", ()), options.pop("clients", [])
    taken, ready = listening("127.0.0.1", 0), threading.Event()
    servers: list[Server] = []

    async def serve() -> None:
        async with AsyncHoldfast.from_url(url, namespace=namespace) as hf:
            clients.append(hf)
            app = gateway(hf, authenticator=tokens, limits=limits, **options)
            passes = Passes(SECRET)
            more = {key: options[key] for key in ("hosts",) if key in options}
            shown = (
                serve(hf, access=passes, limits=limits, **more) for serve in (dashboard, metrics)
            )
            app = combined_app(app, *shown)
            servers.append(Server(app, proxies=proxies, ready=ready.set))
            await servers[0].serve([taken])

    thread = threading.Thread(target=asyncio.run, args=[serve()])
    thread.start()
    assert ready.wait(PATIENCE_S)
    try:
        with Holdfast.from_url(url, namespace=namespace) as hf:
            live = RunningApp(taken.getsockname()[1], tokens, hf)
            try:
                yield live
            finally:
                live.close()
    finally:
        servers[0].should_exit = True
        thread.join(PATIENCE_S)
        assert not thread.is_alive(), "the gateway did not end"
