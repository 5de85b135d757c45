"""One request of one user, and the routes that handle such requests."""

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

from ... import AsyncHoldfast, TraceContext, use_trace
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
from ..shared_state import TOO_MANY
from . import costs
from .gateway_state import GatewayState
from .waiting import unless_over

T = TypeVar("T")


@dataclass(slots=True)
class UserRequest:
    """One request of one user.

    Attributes:
        state: what all requests share.
        http: the request itself.
        user: who sent it.
        key: the idempotency key of its write.
    """

    state: GatewayState
    http: Request
    user: str
    key: str

    @property
    def has_own_key(self) -> bool:
        """Return whether the client sent the key, so that this may repeat an earlier request."""
        return KEY_HEADER in self.http.headers

    @property
    def hf(self) -> AsyncHoldfast:
        """Return the client of the server."""
        return self.state.hf

    @property
    def op_id(self) -> str:
        """Return the operation id of its write."""
        return op_id(self.user, self.key)

    def name(self, param: str) -> str:
        """Return a name in the path."""
        try:
            return unquote_to_bytes(self.http.path_params[param]).decode()
        except UnicodeDecodeError:
            raise Problem("bad-request", f"the {param} in the path is not UTF-8") from None

    def seq(self, param: str) -> int:
        """Return the number of a message in the path."""
        given = self.http.path_params[param]
        return parse_number(given, "the number of a message", 1, 2**53 - 2)

    def count(self, param: str, default: int, most: int = MAX_ITEMS) -> int:
        """Return a number of items in the query, 1 to *most*."""
        given = self.http.query_params.get(param)
        return default if given is None else parse_number(given, param, 1, most)

    def edge(self, param: str) -> int | None:
        """Return the number of a message in the query, or None."""
        given = self.http.query_params.get(param)
        return None if given is None else parse_number(given, param, 0, 2**53 - 1)

    def timeout(self) -> float:
        """Return the seconds to wait that the query asks for; by default 0."""
        given, most = self.http.query_params.get("timeout", "0"), self.state.limits.timeout
        try:
            seconds = float(given)
        except ValueError:
            seconds = math.nan
        if not 0 <= seconds <= most:  # also NaN
            raise Problem("bad-request", f"timeout must be 0 to {most:g} seconds, got {given!r}")
        return seconds

    async def wait_for(self, fetch: Callable[[float], Awaitable[T]], nothing: T) -> T:
        """Return what *fetch* returns within the timeout, or *nothing* when the gateway stops.

        Raises:
            Problem: the token has ended or was revoked meanwhile.
        """
        timeout = self.timeout()
        if not timeout:
            return await fetch(0.0)
        with self.state.waiting.hold(self.user):
            found = await unless_over(self.http, self.state.closing, fetch(timeout))
        if await self.state.authenticate(self.http) != self.user:
            raise Problem("unauthorized", "the token now belongs to another user")
        return nothing if found is None else found

    def require(self, cost: float) -> None:
        """Take *cost* from the budget of the user.

        Raises:
            Problem: the budget has less.
        """
        self.state.user_rate.require(self.user, TOO_MANY, cost)

    def charge(self, cost: float) -> None:
        """Take *cost*, which is known only afterwards, from the budget of the user."""
        self.state.user_rate.charge(self.user, cost)

    async def require_inbox(self) -> None:
        """Take the cost of reading all chats of the user from the user's budget."""
        self.require(costs.of_inbox(await self.state.inbox_sizes.get(self.user)))

    async def permit(self, action: str, target: str) -> str:
        """Return *target* if the application allows the user to do *action* to it.

        Raises:
            Problem: it does not.
        """
        await self.state.authorization.require(self.user, action, target)
        return target

    async def body(self) -> bytes:
        """Return the body, after its cost was taken from the user's budget."""
        body = await read_body(self.http, self.state.limits.request_bytes)
        self.require(costs.of_written(len(body)))
        return body

    async def message(self) -> Any:
        """Return the message in the body: a JSON value, or the bytes of any other type."""
        media = self.http.headers.get("content-type", "").partition(";")[0].strip().lower()
        if not media:
            hint = f"{JSON}, or a type such as image/png for bytes"
            raise Problem("unknown-media", f"send a Content-Type with the message: {hint}")
        data = await self.body()
        return decode_json(data, Any) if media == JSON else data

    async def json(self, kind: type[T]) -> T:
        """Return the JSON object of this *kind* in the body."""
        found: T = decode_json(await self.body(), kind)
        return found


Handler = Callable[[UserRequest], Awaitable[Response]]


def route(path: str, **handlers: Handler) -> Route:
    """Return the route of *path* with one handler for each method."""
    handlers |= {"HEAD": handlers["GET"]} if "GET" in handlers else {}

    async def endpoint(request: Request) -> Response:
        state: GatewayState = request.app.state.shared
        key = None
        try:
            user = await state.authenticate(request)
            state.user_rate.require(user, TOO_MANY)
            key = idempotency_key(request.headers.get(KEY_HEADER))
            with use_trace(trace_of(request.headers)):
                return await _respond(
                    handlers[request.method], UserRequest(state, request, user, key)
                )
        except ClientDisconnect:
            return Response(status_code=400)  # the client has gone and does not read it
        except Exception as error:  # noqa: BLE001 (the last handler: `problem_of` logs it)
            return problem_of(error, key).response()

    return Route(path, endpoint, methods=list(handlers))


async def _respond(handler: Handler, request: UserRequest) -> Response:
    """Return the response of *handler*, and charge the user for its size."""
    response = await handler(request)
    request.charge(costs.of_read(len(response.body)))
    return response


def trace_of(headers: Headers) -> TraceContext | None:
    """Return the trace that a request belongs to, or None."""
    return TraceContext.parsed(headers.get("traceparent"), headers.get("tracestate"))
