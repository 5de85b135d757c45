"""Represent a request of an authenticated user, and build the routes that handle such requests."""

from __future__ import annotations

import math
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, TypeVar
from urllib.parse import unquote_to_bytes

from starlette.datastructures import Headers
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route

from ... import AsyncHoldfast, AsyncPermit, TraceContext, use_trace
from ..problems import Problem, problem_of
from ..request_parsing import (
    JSON,
    KEY_HEADER,
    MAX_ITEMS,
    decode_json,
    idempotency_key,
    op_id,
    parse_number,
    read_body,
)
from ..request_rates import add_cost
from ..shared_state import TOO_MANY
from . import costs
from .gateway_state import GatewayState
from .waiting import unless_over

T = TypeVar("T")


@dataclass(slots=True)
class UserRequest:
    """Represents a request of an authenticated user.

    Attributes:
        state: the objects that all requests share.
        http: the HTTP request.
        user: the name of the user.
        key: the idempotency key: the one that the client sent, or a new one.
        charged: what the rate limiter has charged for the request, if the server counted it.
    """

    state: GatewayState
    http: Request
    user: str
    key: str
    charged: AsyncPermit | None

    @property
    def has_own_key(self) -> bool:
        """Return whether the client sent the key. If so, this may be a repeated request."""
        return KEY_HEADER in self.http.headers

    @property
    def hf(self) -> AsyncHoldfast:
        """Return the client of the Valkey or Redis server."""
        return self.state.hf

    @property
    def op_id(self) -> str:
        """Return the operation id under which the request writes."""
        return op_id(self.user, self.key)

    def name(self, param: str) -> str:
        """Return the decoded path parameter *param*, a name."""
        try:
            return unquote_to_bytes(self.http.path_params[param]).decode()
        except UnicodeDecodeError:
            raise Problem("bad-request", f"the {param} in the path is not UTF-8") from None

    def seq(self, param: str) -> int:
        """Return the path parameter *param*, the number of a message."""
        given = self.http.path_params[param]
        return parse_number(given, "the number of a message", 1, 2**53 - 2)

    def count(self, param: str, default: int, most: int = MAX_ITEMS) -> int:
        """Return the query parameter *param*, a number of items from 1 to *most*, or *default*."""
        given = self.http.query_params.get(param)
        return default if given is None else parse_number(given, param, 1, most)

    def edge(self, param: str) -> int | None:
        """Return the query parameter *param*, the number of a message, or None if it is absent."""
        given = self.http.query_params.get(param)
        return None if given is None else parse_number(given, param, 0, 2**53 - 1)

    def timeout(self) -> float:
        """Return the query parameter `timeout`: seconds to wait for messages, by default 0."""
        given, most = self.http.query_params.get("timeout", "0"), self.state.limits.timeout
        try:
            seconds = float(given)
        except ValueError:
            seconds = math.nan
        if not 0 <= seconds <= most:  # also NaN
            raise Problem("bad-request", f"timeout must be 0 to {most:g} seconds, got {given!r}")
        return seconds

    async def wait_for(self, fetch: Callable[[float], Awaitable[T]], nothing: T) -> T:
        """Call *fetch* with the timeout of the request, and return its result.

        Return *nothing* if the client disconnects or the gateway stops first.

        Raises:
            Problem: the token expired or was revoked during the wait, or the user has too many
                requests that wait.
        """
        timeout = self.timeout()
        if not timeout:
            return await fetch(0.0)
        with self.state.waiting.hold(self.user):
            found = await unless_over(self.http, self.state.closing, fetch(timeout))
        if await self.state.authenticate(self.http) != self.user:
            raise Problem("unauthorized", "the token now belongs to another user")
        return nothing if found is None else found

    async def require(self, cost: int) -> None:
        """Count *cost* against the user's rate limit.

        Raises:
            Problem: the rate limit does not allow this cost now.
        """
        await self.state.user_rate.require(self.user, TOO_MANY, cost)

    async def charge(self, cost: int) -> None:
        """Count *cost* against the user's rate limit, even above it: the work is already done."""
        if self.charged is not None:
            await add_cost(self.charged, cost)

    async def require_inbox(self) -> None:
        """Count the cost of reading all chats of the user, as `require` does."""
        await self.require(costs.of_inbox(await self.state.inbox_sizes.get(self.user)))

    async def permit(self, action: str, target: str) -> str:
        """Return *target* if the application allows the user to do *action* to it.

        Raises:
            Problem: the application does not allow it.
        """
        await self.state.authorization.require(self.user, action, target)
        return target

    async def body(self) -> bytes:
        """Return the body, and count its size against the user's rate limit."""
        body = await read_body(self.http, self.state.limits.request_bytes)
        await self.require(costs.of_written(len(body)))
        return body

    async def message(self) -> Any:
        """Return the message in the body: a JSON value, or bytes if its type is not JSON."""
        media = self.http.headers.get("content-type", "").partition(";")[0].strip().lower()
        if not media:
            hint = f"{JSON}, or a type such as image/png for bytes"
            raise Problem("unknown-media", f"send a Content-Type with the message: {hint}")
        data = await self.body()
        return decode_json(data, Any) if media == JSON else data

    async def json(self, kind: type[T]) -> T:
        """Return the JSON object in the body, decoded as *kind*."""
        found: T = decode_json(await self.body(), kind)
        return found


Handler = Callable[[UserRequest], Awaitable[Response]]


def route(path: str, **handlers: Handler) -> Route:
    """Return the route of *path*; *handlers* maps each HTTP method to its handler.

    The route authenticates the user, applies the rate limit and turns exceptions into problems.
    """
    handlers |= {"HEAD": handlers["GET"]} if "GET" in handlers else {}

    async def endpoint(request: Request) -> Response:
        state: GatewayState = request.app.state.shared
        key = None
        try:
            user = await state.authenticate(request)
            charged = await state.user_rate.require(user, TOO_MANY)
            key = idempotency_key(request.headers.get(KEY_HEADER))
            with use_trace(trace_of(request.headers)):
                made = UserRequest(state, request, user, key, charged)
                return await _respond(handlers[request.method], made)
        except ClientDisconnect:
            return Response(status_code=400)  # never sent, but Starlette needs one
        except Exception as error:  # noqa: BLE001 (the last handler: `problem_of` logs it)
            return problem_of(error, key).response()

    return Route(path, endpoint, methods=list(handlers))


async def _respond(handler: Handler, request: UserRequest) -> Response:
    """Return the response of *handler*, and charge the user for its size."""
    response = await handler(request)
    await request.charge(costs.of_read(len(response.body)))
    return response


def trace_of(headers: Headers) -> TraceContext | None:
    """Return the trace context in the headers of a request, or None."""
    return TraceContext.parsed(headers.get("traceparent"), headers.get("tracestate"))
