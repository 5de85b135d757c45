"""One request of one user: what it says, checked."""

from __future__ import annotations

import hashlib
import math
from base64 import urlsafe_b64encode
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, Final, TypeVar
from urllib.parse import unquote_to_bytes

import msgspec
from starlette.datastructures import Headers
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route

from .. import AsyncHoldfast, TraceContext, use_trace
from . import costs
from .gate import TOO_MANY, Gate, new_key
from .problems import Problem, problem_of
from .waiting import unless_over

T = TypeVar("T")

MOST_MESSAGES: Final = 500
"""In one answer."""

KEY_HEADER: Final = "idempotency-key"
LONGEST_KEY: Final = 200

JSON: Final = "application/json"


@dataclass(slots=True)
class Visit:
    """One request of one user.

    Attributes:
        gate: what it came in by.
        request: as it was sent.
        user: who sent it.
        key: names what it does, so that doing it again changes nothing.
    """

    gate: Gate[str]
    request: Request
    user: str
    key: str

    @property
    def has_own_key(self) -> bool:
        """Return whether the client gave the key, so that this may repeat an earlier request."""
        return KEY_HEADER in self.request.headers

    @property
    def hf(self) -> AsyncHoldfast:
        """Where the mailboxes and chats are."""
        return self.gate.hf

    @property
    def op_id(self) -> str:
        """The key, bound to the user: nobody can repeat what somebody else did."""
        return op_id(self.user, self.key)

    def name(self, param: str) -> str:
        """A name in the path."""
        try:
            return unquote_to_bytes(self.request.path_params[param]).decode()
        except UnicodeDecodeError:
            raise Problem("bad-request", f"the {param} in the path is not UTF-8") from None

    def seq(self, param: str) -> int:
        """The number of a message in the path."""
        return whole(self.request.path_params[param], "the number of a message", 1, 2**53 - 2)

    def whole(self, param: str, default: int, most: int = MOST_MESSAGES) -> int:
        """A number of things in the query, 1 to *most*."""
        given = self.request.query_params.get(param)
        return default if given is None else whole(given, param, 1, most)

    def edge(self, param: str) -> int | None:
        """The number of a message in the query; None: there is none."""
        given = self.request.query_params.get(param)
        return None if given is None else whole(given, param, 0, 2**53 - 1)

    def timeout(self) -> float:
        """The seconds in the query for which to wait; by default none."""
        given, most = self.request.query_params.get("timeout", "0"), self.gate.limits.timeout
        try:
            seconds = float(given)
        except ValueError:
            seconds = math.nan
        if not 0 <= seconds <= most:  # also NaN
            raise Problem("bad-request", f"timeout must be 0 to {most:g} seconds, got {given!r}")
        return seconds

    async def waited(self, fetch: Callable[[float], Awaitable[T]], nothing: T) -> T:
        """Return what *fetch* gives within the timeout; *nothing* when the gateway closes.

        Raises:
            Problem: the token has ended or was revoked meanwhile.
        """
        timeout = self.timeout()
        if not timeout:
            return await fetch(0.0)
        with self.gate.places.one(self.user):
            found = await unless_over(self.request, self.gate.closing, fetch(timeout))
        if await self.gate.user_of(self.request) != self.user:
            raise Problem("unauthorized", "the token is now of another user")
        return nothing if found is None else found

    def demand(self, cost: float) -> None:
        """Refuse the request if the user has spent too much lately to pay *cost* as well."""
        self.gate.users.demand(self.user, TOO_MANY, cost)

    def charge(self, cost: float) -> None:
        """Add *cost*, which is only known afterwards, to what the user has spent."""
        self.gate.users.charge(self.user, cost)

    async def demand_inbox(self) -> None:
        """Refuse the request if looking at all chats of the user costs too much now."""
        self.demand(costs.of_inbox(await self.gate.inboxes.get(self.user)))

    async def permit(self, action: str, target: str) -> str:
        """Return *target*, if the application allows the user to do *action* to it.

        Raises:
            Problem: it does not.
        """
        await self.gate.permission.demand(self.user, action, target)
        return target

    async def raw(self) -> bytes:
        """Return the body, which is refused as soon as it is too large or costs too much."""
        body = await body_of(self.request, self.gate.limits.request_bytes)
        self.demand(costs.of_written(len(body)))
        return body

    async def message(self) -> Any:
        """The body of a message: the value of JSON, or the bytes of anything else."""
        media = self.request.headers.get("content-type", "").partition(";")[0].strip().lower()
        if not media:
            hint = f"{JSON}, or image/png and the like for bytes"
            raise Problem("unknown-media", f"say in Content-Type what the message is: {hint}")
        data = await self.raw()
        return decoded(data, Any) if media == JSON else data

    async def json(self, kind: type[T]) -> T:
        """The body, which must be such an object in JSON."""
        found: T = decoded(await self.raw(), kind)
        return found


async def body_of(request: Request, limit: int) -> bytes:
    """The body of *request*, which is refused as soon as it is over *limit* bytes."""
    body = bytearray()
    announced = request.headers.get("content-length", "0")
    if announced.isdecimal() and int(announced) > limit:
        raise _too_large(limit)
    async for part in request.stream():
        body += part
        if len(body) > limit:
            raise _too_large(limit)
    return bytes(body)


def decoded(data: bytes | str, kind: Any) -> Any:
    """A value of JSON that a client sent.

    Raises:
        Problem: it is no JSON, or not of this *kind*; it says where.
    """
    try:
        return msgspec.json.decode(data, type=kind)
    except RecursionError:
        raise Problem("bad-request", "the JSON is nested too deeply") from None
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise Problem("bad-request", f"the JSON cannot be taken: {error}") from None


def answer(value: Any, status: int = 200, **headers: str) -> Response:
    """*value* as JSON."""
    return Response(msgspec.json.encode(value), status, headers, JSON)


def op_id(user: str, key: str) -> str:
    """What a write is called that *user* calls *key*."""
    named = hashlib.sha256(msgspec.json.encode((user, key))).digest()
    return f"web-{urlsafe_b64encode(named[:15]).decode()}"  # short: it may become the id of a chat


Handler = Callable[[Visit], Awaitable[Response]]


async def _answered(handler: Handler, visit: Visit) -> Response:
    """Return the answer of *handler*, whose size the user pays for."""
    response = await handler(visit)
    visit.charge(costs.of_read(len(response.body)))
    return response


def resource(path: str, **handlers: Handler) -> Route:
    """What lies at *path*: one handler for each method."""
    handlers |= {"HEAD": handlers["GET"]} if "GET" in handlers else {}

    async def endpoint(request: Request) -> Response:
        gate: Gate[str] = request.app.state.gate
        key = None
        try:
            user = await gate.user_of(request)
            gate.users.demand(user, TOO_MANY)
            key = key_of(request.headers.get(KEY_HEADER))
            with use_trace(trace_of(request.headers)):
                return await _answered(handlers[request.method], Visit(gate, request, user, key))
        except ClientDisconnect:
            return Response(status_code=400)  # nobody is there to read it
        except Exception as error:  # noqa: BLE001 (the last one to catch it: `problem_of` logs it)
            return problem_of(error, key).response()

    return Route(path, endpoint, methods=list(handlers))


def trace_of(headers: Headers) -> TraceContext | None:
    """The trace that a request is part of, if it says so."""
    return TraceContext.parsed(headers.get("traceparent"), headers.get("tracestate"))


def key_of(given: str | None) -> str:
    """The key that a client gave its write, or a new one."""
    if given is None:
        return new_key()
    if not 0 < len(given) <= LONGEST_KEY:
        raise Problem("bad-request", f"an Idempotency-Key has 1 to {LONGEST_KEY} characters")
    return given


def whole(given: str, what: str, least: int, most: int) -> int:
    """The number that *given* says, *least* to *most*; *what* names it if it is none."""
    number = int(given) if given.isascii() and given.isdecimal() and len(given) <= 20 else -1
    if not least <= number <= most:
        raise Problem("bad-request", f"{what} must be {least} to {most:,}, got {given[:40]!r}")
    return number


def _too_large(limit: int) -> Problem:
    return Problem("too-large", f"a request takes at most {limit:,} bytes; send a reference")
