"""What every request passes first: the right host, no foreign page, not too often."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterable
from typing import Final

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from .limits import Buckets, address_of
from .problems import Problem

LOOPBACK_HOSTS: Final = ("localhost", "127.0.0.1", "::1")
ANY_HOST: Final = "*"

_HOST: Final = re.compile(r"(\[[0-9a-f:.]+\]|[^]\[:/?#@\\\s]+)(:\d*)?")

SAFE_METHODS: Final = ("GET", "HEAD", "OPTIONS")

FORWARDED: Final = ("x-forwarded-for", "x-forwarded-proto", "forwarded", "via")
"""Headers that proxies add."""

HSTS_S: Final = 365 * 86_400
"""Seconds for which browsers must use TLS for this host once they have."""

LONGEST_NAME: Final = 253
LAST_PORT: Final = 65535

_NAME: Final = re.compile(
    r"(?!-)[a-z0-9_-]{1,63}(?<!-)(\.(?!-)[a-z0-9_-]{1,63}(?<!-))*(?<!\.\d)(?<!\.\d\d)(?<!\.\d\d\d)\.?",
    re.ASCII,
)

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
        addresses: how often each address may ask.
    """

    def __init__(self, app: ASGIApp, *, hosts: Iterable[str], addresses: Buckets) -> None:
        self._app = app
        self._hosts = frozenset(_host(host) for host in checked_hosts(hosts))
        self._addresses = addresses

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] not in ("http", "websocket"):
            await self._app(scope, receive, send)
            return

        async def send_guarded(message: Message) -> None:
            if message["type"].endswith("http.response.start"):
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers.setdefault(name, value)
                if is_encrypted(scope):
                    headers.setdefault("Strict-Transport-Security", f"max-age={HSTS_S}")
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
            _check_origin(scope, headers, host)
        client = scope.get("client")
        address = address_of(client[0] if client else "")
        self._addresses.demand(address, "too many requests from this address")


def checked_hosts(hosts: Iterable[str]) -> tuple[str, ...]:
    """Return *hosts*, all of which can be in a header Host.

    Raises:
        ValueError: one of them cannot, so that it would allow nothing, or what is malformed.
    """
    found = tuple(hosts)
    for host in found:
        if host != ANY_HOST and not _is_host(host):
            raise ValueError(
                f"{host!r} is no host: give a name or an address, such as chat.example.org, "
                "without a scheme or a path; * allows all"
            )
    return found


def _is_host(given: str) -> bool:
    """Return whether *given* is a name or an address, perhaps with a port."""
    name, port = _host(given), given.rpartition(":")[2]
    if given.count(":") == 1 and not (port.isdecimal() and int(port) <= LAST_PORT):
        return False
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return _NAME.fullmatch(name) is not None and len(name) <= LONGEST_NAME
    return True


def is_encrypted(scope: Scope) -> bool:
    """Return whether the client uses TLS, as far as the server or a trusted proxy says so."""
    return scope.get("scheme") in ("https", "wss")


def is_secure(request: Request) -> bool:
    """Return whether the browser that sent *request* uses TLS, also if a proxy does not say so.

    A page of the same host sent it, or the guard had refused it; so its Origin can be believed.
    """
    origin = request.headers.get("origin", "")
    return is_encrypted(request.scope) or origin.lower().startswith("https://")


def _check_origin(scope: Scope, headers: Headers, host: str) -> None:
    """Refuse what a page of another origin sends. Browsers say it; programs need not."""
    origin = headers.get("origin")
    if origin is not None:
        scheme, _, name = origin.lower().partition("://")
        if name != host.lower() or scheme not in _schemes(scope, headers):
            raise Problem("cross-site", f"a page of {origin!r} may not do this on {host!r}")
    if headers.get("sec-fetch-site", "none") not in ("same-origin", "none"):
        raise Problem("cross-site", f"a page of another site may not do this on {host!r}")


def _schemes(scope: Scope, headers: Headers) -> tuple[str, ...]:
    """Return the schemes that an Origin may have.

    A proxy that ends TLS and does not say so, or that is not trusted, leaves `http` in the scope.
    """
    if is_encrypted(scope):
        return ("https",)
    forwarded = any(name in headers for name in FORWARDED)
    return ("http", "https") if forwarded else ("http",)


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
