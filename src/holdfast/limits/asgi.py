"""`RateLimitMiddleware`: limits the requests of an ASGI application, whatever its framework."""

from __future__ import annotations

import ipaddress
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any, Final, Literal

import msgspec

from ..errors import OutcomeUnknown, ServerUnavailable
from ..errors.one_line_logger import logger_of
from ._async.rate_limiter import AsyncRateLimiter
from .costs import CostAboveLimit, Costs, checked_costs
from .decision import Decision

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

_IPV6_PREFIX: Final = 64

_TITLES: Final = {
    413: "Content Too Large",
    429: "Too Many Requests",
    503: "Service Unavailable",
}

logger: Final = logger_of("holdfast")


def client_address(scope: Scope) -> str:
    """Return the address of the client of a request; for IPv6 its network of 64 bits."""
    host = str((scope.get("client") or ("",))[0])
    try:
        address = ipaddress.ip_address(host.partition("%")[0])
    except ValueError:  # no IP address, as with a unix socket or a test client
        return host
    if isinstance(address, ipaddress.IPv6Address):
        if address.ipv4_mapped is None:
            return str(ipaddress.ip_network((address, _IPV6_PREFIX), strict=False))
        address = address.ipv4_mapped
    return str(address)


class RateLimitMiddleware:
    """Limits the HTTP requests of an ASGI application, together with all its other processes.

    - A request that may not pass gets status 429, `Retry-After`, and a body of
      `application/problem+json`.
    - A request that costs more than a limit allows in all gets status 413: it could never pass.
    - All other responses get the header fields `RateLimit` and `RateLimit-Policy`.
    - Other protocols, such as WebSockets, are not limited.

    Args:
        app: the application.
        limiter: the limiter, from an `AsyncHoldfast`.
        subject: a function that returns the subject of a request, such as the user, from the ASGI
            scope. If it returns None, the request is not limited. By default, the subject is the
            address of the client.
        costs: returns what a request costs, from the ASGI scope; by default each costs 1.
        unavailable: what happens to requests while the server cannot be reached: `allow` lets them
            pass, `refuse` answers with status 503.

    Raises:
        TypeError: *limiter* is not that of an `AsyncHoldfast`, or *subject* or *costs* is no
            function.
        ValueError: *unavailable* is another text, or a limit has a name and there are no *costs*.
    """

    def __init__(
        self,
        app: App,
        *,
        limiter: AsyncRateLimiter,
        subject: Callable[[Scope], str | None] = client_address,
        costs: Callable[[Scope], Costs] | None = None,
        unavailable: Literal["allow", "refuse"] = "allow",
    ) -> None:
        if unavailable not in ("allow", "refuse"):
            raise ValueError(f"unavailable must be 'allow' or 'refuse', got {unavailable!r}")
        if not isinstance(limiter, AsyncRateLimiter):
            got = type(limiter).__name__
            raise TypeError(f"limiter must be from AsyncHoldfast.rate_limit, got {got}")
        if not callable(subject):
            raise TypeError(f"subject must be a function of the scope, got {subject!r}")
        if costs is None:
            checked_costs(None, limiter.limits)
        elif not callable(costs):
            raise TypeError(f"costs must be a function of the scope, got {costs!r}")
        self._app = app
        self._limiter = limiter
        self._subject = subject
        self._costs = costs
        self._unavailable = unavailable

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one connection, as ASGI defines it."""
        subject = self._subject(scope) if scope["type"] == "http" else None
        if subject is None:
            await self._app(scope, receive, send)
            return
        try:
            costs = None if self._costs is None else self._costs(scope)
            decision = await self._limiter.of(subject).try_acquire(costs)
        except CostAboveLimit as error:
            await _refuse(send, 413, str(error), {})
            return
        except (ServerUnavailable, OutcomeUnknown) as error:
            if self._unavailable == "refuse":
                await _refuse(send, 503, "the rate limiter cannot be reached; try again", {})
                return
            logger.warning("a request is not limited: %s", error)
            await self._app(scope, receive, send)
            return
        fields = decision.headers()
        if not decision:
            detail = f"you have sent too many requests; try again in {fields['Retry-After']} s"
            await _refuse(send, 429, detail, fields)
            return
        await self._app(scope, receive, _with_fields(send, decision))


def _with_fields(send: Send, decision: Decision) -> Send:
    """Return *send* with the header fields of *decision* in the response."""

    async def send_with_fields(message: Message) -> None:
        if message["type"] == "http.response.start":
            # A copy: the application may send the same message again, for another request.
            headers = [*message.get("headers", ()), *_encoded(decision.headers())]
            message = {**message, "headers": headers}
        await send(message)

    return send_with_fields


async def _refuse(send: Send, status: int, detail: str, fields: dict[str, str]) -> None:
    """Answer a request with a problem (RFC 9457)."""
    title = _TITLES[status]
    problem = {"type": "about:blank", "title": title, "status": status, "detail": detail}
    body = msgspec.json.encode(problem)
    described = {
        **fields,
        "Content-Type": "application/problem+json",
        "Content-Length": str(len(body)),
    }
    start = {"type": "http.response.start", "status": status, "headers": _encoded(described)}
    await send(start)
    await send({"type": "http.response.body", "body": body})


def _encoded(fields: dict[str, str]) -> list[tuple[bytes, bytes]]:
    return [(name.lower().encode(), value.encode()) for name, value in fields.items()]
