"""What every request passes first: the right host, no foreign page, not too often."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from .limits import Buckets, Limits, address_of
from .problems import Problem

LOOPBACK_HOSTS: Final = ("localhost", "127.0.0.1", "::1")
ANY_HOST: Final = "*"

_HOST: Final = re.compile(r"(\[[0-9a-f:.]+\]|[^]\[:/?#@\\\s]+)(:\d*)?")

SAFE_METHODS: Final = ("GET", "HEAD", "OPTIONS")

HEADERS: Final = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'; sandbox",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}
"""Of every answer that does not say otherwise."""


class Guard:
    """Refuses requests before anything looks at them, and puts `HEADERS` on every answer.

    Args:
        app: what it guards.
        hosts: names under which it is reached. A page elsewhere whose name suddenly resolves to
            this address (DNS rebinding) sends another one. `*` allows all.
        limits: how often one address may ask.
    """

    def __init__(self, app: ASGIApp, *, hosts: Iterable[str], limits: Limits) -> None:
        self._app = app
        self._hosts = frozenset(_host(host) for host in hosts)
        self._addresses = Buckets(limits.address)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] not in ("http", "websocket"):
            await self._app(scope, receive, send)
            return

        async def send_guarded(message: Message) -> None:
            if message["type"].endswith("http.response.start"):
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers.setdefault(name, value)
            await send(message)

        try:
            self._check(scope)
        except Problem as problem:
            await problem.response()(scope, receive, send_guarded)
            return
        await self._app(_encoded(scope), receive, send_guarded)

    def _check(self, scope: Scope) -> None:
        headers = Headers(scope=scope)
        host = headers.get("host", "")
        if ANY_HOST not in self._hosts and _host(host) not in self._hosts:
            raise Problem("wrong-host", f"{host!r} is not served here; see --allow-host")
        if scope["type"] == "websocket" or scope["method"] not in SAFE_METHODS:
            _check_origin(headers, host)
        client = scope.get("client")
        self._addresses.demand(address_of(client[0] if client else ""), "this address")


def _check_origin(headers: Headers, host: str) -> None:
    """Browsers say which page sends what changes something; programs need not."""
    origin = headers.get("origin")
    if origin is not None and origin.lower().partition("://")[2] != host.lower():
        raise Problem("cross-site", f"a page of {origin!r} may not do this on {host!r}")
    if headers.get("sec-fetch-site", "none") not in ("same-origin", "none"):
        raise Problem("cross-site", f"a page of another site may not do this on {host!r}")


def same_origin(headers: Headers) -> bool:
    """Whether a browser says that a page of this very host sent this."""
    if "sec-fetch-site" in headers:
        return headers["sec-fetch-site"] == "same-origin"
    origin = headers.get("origin", "")
    return bool(origin) and origin.lower().partition("://")[2] == headers.get("host", "").lower()


def _host(given: str) -> str:
    """The name in `name`, `name:port`, `[::1]`, `[::1]:port` or `::1`, in one spelling."""
    if given.count(":") > 1 and not given.startswith("["):
        return given.lower()
    found = _HOST.fullmatch(given.lower())
    return found[1].strip("[]") if found else ""


def _encoded(scope: Scope) -> Scope:
    """The same, but its path as it was sent: a name with a slash in it (`%2F`) stays one name."""
    raw = scope.get("raw_path")
    return scope if raw is None else {**scope, "path": raw.decode("latin-1")}
