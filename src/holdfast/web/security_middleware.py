"""Check the host, the origin and the rate of every request in a middleware."""

from __future__ import annotations

import ipaddress
import re
import secrets
from collections.abc import Iterable
from typing import Final

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from .. import ClientClosed, client_address
from .problems import Problem, problem_of
from .request_rates import RequestRate

LOOPBACK_HOSTS: Final = ("localhost", "127.0.0.1", "::1")
ANY_HOST: Final = "*"

_HOST: Final = re.compile(r"(\[[0-9a-f:.]+\]|[^]\[:/?#@\\\s]+)(:\d*)?")

SAFE_METHODS: Final = ("GET", "HEAD", "OPTIONS")

FORWARDED: Final = ("x-forwarded-for", "x-forwarded-proto", "forwarded", "via")
"""Headers that show that a proxy has forwarded a request."""

HSTS_S: Final = 365 * 86_400
"""Seconds for which a browser must use TLS for this host after it has used TLS once."""

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
"""Headers of every response, unless the application sets its own value."""


class SecurityMiddleware:
    """Refuses harmful requests before the application sees them. Adds `HEADERS` to every response.

    Args:
        app: the application.
        hosts: the host names and addresses under which clients reach the application; `*` allows
            all. The check protects against DNS rebinding: if the name of a foreign page resolves to
            this address, the page sends its own name as the host.
        address_rate: limits the requests of each address.
    """

    def __init__(self, app: ASGIApp, *, hosts: Iterable[str], address_rate: RequestRate) -> None:
        self._app = app
        self._hosts = frozenset(_host(host) for host in checked_hosts(hosts))
        self._address_rate = address_rate

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] not in ("http", "websocket"):
            await self._app(scope, receive, send)
            return

        async def send_with_headers(message: Message) -> None:
            if message["type"].endswith("http.response.start"):
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers.setdefault(name, value)
                if is_encrypted(scope):
                    headers.setdefault("Strict-Transport-Security", f"max-age={HSTS_S}")
            await send(message)

        try:
            self._check(scope)
            address = client_address(scope)
            await self._address_rate.require(address, "too many requests from this address")
        except (Problem, ClientClosed) as error:
            await problem_of(error).response()(scope, receive, send_with_headers)
            return
        await self._app(_encoded(scope), receive, send_with_headers)

    def _check(self, scope: Scope) -> None:
        headers = Headers(scope=scope)
        host = headers.get("host", "")
        if ANY_HOST not in self._hosts and _host(host) not in self._hosts:
            raise Problem(
                "wrong-host", f"this server does not serve the host {host!r}; see --allow-host"
            )
        if scope["type"] == "websocket" or scope["method"] not in SAFE_METHODS:
            _check_origin(scope, headers, host)


def checked_hosts(hosts: Iterable[str]) -> tuple[str, ...]:
    """Return *hosts* if each of them can occur in a Host header.

    Raises:
        ValueError: a host is neither a name nor an address.
    """
    found = tuple(hosts)
    for host in found:
        if host != ANY_HOST and not _is_host(host):
            raise ValueError(
                f"{host!r} is not a host: give a name or an address, such as chat.example.org, "
                "without a scheme or a path; * allows all"
            )
    return found


def _is_host(given: str) -> bool:
    """Return whether *given* is a name or an address, with or without a port."""
    name, port = _host(given), given.rpartition(":")[2]
    if given.count(":") == 1 and not (port.isdecimal() and int(port) <= LAST_PORT):
        return False
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return _NAME.fullmatch(name) is not None and len(name) <= LONGEST_NAME
    return True


def is_encrypted(scope: Scope) -> bool:
    """Return whether the client uses TLS, as the server or a trusted proxy reports."""
    return scope.get("scheme") in ("https", "wss")


def is_secure(request: Request) -> bool:
    """Return whether the browser that sent *request* uses TLS, even if a proxy does not report it.

    The middleware has checked that a request with an Origin comes from a page of this host. So the
    browser uses the scheme of the Origin.
    """
    origin = request.headers.get("origin", "")
    return is_encrypted(request.scope) or origin.lower().startswith("https://")


def _check_origin(scope: Scope, headers: Headers, host: str) -> None:
    """Refuse requests from pages of another origin.

    Browsers send an Origin with these requests, so a request without one is not from a page.
    """
    origin = headers.get("origin")
    if origin is not None:
        scheme, _, name = origin.lower().partition("://")
        if name != host.lower() or scheme not in _schemes(scope, headers):
            raise Problem("cross-site", f"a page of {origin!r} may not do this on {host!r}")
    if headers.get("sec-fetch-site", "none") not in ("same-origin", "none"):
        raise Problem("cross-site", f"a page of another site may not do this on {host!r}")


def _schemes(scope: Scope, headers: Headers) -> tuple[str, ...]:
    """Return the schemes that the Origin of a request may have.

    Allow both behind a proxy that is not trusted: it may terminate TLS, and the scope then says
    `http`.
    """
    if is_encrypted(scope):
        return ("https",)
    forwarded = any(name in headers for name in FORWARDED)
    return ("http", "https") if forwarded else ("http",)


def same_origin(headers: Headers) -> bool:
    """Return whether the headers of a browser show that a page of this host sent the request."""
    if "sec-fetch-site" in headers:
        return headers["sec-fetch-site"] == "same-origin"
    origin = headers.get("origin", "")
    return bool(origin) and origin.lower().partition("://")[2] == headers.get("host", "").lower()


def _host(given: str) -> str:
    """Return the lower-case name in `name`, `name:port`, `[::1]`, `[::1]:port` or `::1`."""
    if given.count(":") > 1 and not given.startswith("["):
        return given.lower()
    found = _HOST.fullmatch(given.lower())
    return found[1].strip("[]") if found else ""


def _encoded(scope: Scope) -> Scope:
    """Return *scope* with a percent-encoded path, so that `%2F` in a name does not split it."""
    raw = scope.get("raw_path")
    return scope if raw is None else {**scope, "path": raw.decode("latin-1")}


_POLICY: Final = (
    "default-src 'none'; script-src 'nonce-{nonce}' 'strict-dynamic'; style-src 'nonce-{nonce}'; "
    "img-src 'self' blob:; connect-src 'self'; base-uri 'none'; form-action {forms}; "
    "frame-ancestors 'none'"
)


def content_policy(*, forms: str = "'none'") -> tuple[str, dict[str, str]]:
    """Return a new nonce, and headers that allow only scripts and styles with this nonce.

    Args:
        forms: the origins to which the page may send forms, in the syntax of the header.
    """
    nonce = secrets.token_urlsafe(16)
    return nonce, {"Content-Security-Policy": _POLICY.format(nonce=nonce, forms=forms)}
