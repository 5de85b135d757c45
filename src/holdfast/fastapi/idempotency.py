"""Answer a request that repeats an Idempotency-Key with the response to the first request."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import suppress
from datetime import timedelta
from typing import Any, Final

import msgspec
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from .. import AsyncHoldfast, AsyncIdempotentCall, HoldfastError, ServerUnavailable
from ..errors.one_line_logger import logger_of
from .client import client_of, unconnected
from .stored_response import TOO_LARGE, ResponseRecorder, StoredResponse, problem

logger: Final = logger_of("holdfast")

MAX_KEY: Final = 255
"""Largest number of characters of a key."""

_BODY: Final = 1 << 20

_LONGEST_WAIT_S: Final = 366 * 86_400

_UNRECORDED: Final = frozenset(("http.response.pathsend", "http.response.zerocopysend"))
"""Extensions of ASGI by which an application sends a body in another form than as bytes."""

UserOf = Callable[[Scope], str | None]


class _RefusedRequest(Exception):
    """Raised to answer a request with a problem (RFC 9457)."""

    def __init__(self, status: int, title: str, detail: str, **headers: str) -> None:
        super().__init__(detail)
        self.messages = problem(status, title, detail, **headers)


class IdempotencyMiddleware:
    """Runs a request with a header field Idempotency-Key once. It needs no framework but ASGI.

    - A repeated request gets the answer of the first one, with `Idempotent-Replayed: true`.
    - A request with the same key but another method, path, query or body gets status 422.
    - A repeated request gets status 409 while the first one runs, unless *wait* lets it wait.
    - Answers with status 5xx, 401, 403, 408, 409, 425 and 429 are not kept, nor is a request that
      raised an exception: a repetition runs again.
    - If the process dies, the key is free when the lease ends.
    - While the server of Holdfast cannot be reached, a request with a key gets status 503 and does
      not run.

    Args:
        app: the application.
        user: returns who sends the request, from the ASGI scope; None: the user is not known,
            so the request runs without its key. Each user has separate keys. Return only a user
            that the application has authenticated.
        name: name of the store.
        hf: the client; None: that of the application, see `lifespan`.
        methods: methods of the requests; others run without their key.
        required: whether a request without a key gets status 400.
        wait: seconds that a repeated request waits while the first one runs (or a timedelta), at
            most 366 days; then it gets 409. None: it waits without limit.
        ttl: seconds for which an answer is kept (or a timedelta), at most 366 days.
        lease: seconds after which the key of a process that died is free (or a timedelta); at
            least 1.
        max_body: largest body of a request with a key, in bytes; a larger one gets status 413.

    Raises:
        InvalidName: the *name* is not allowed.
        TypeError: *methods* is a str, or another option has a wrong type.
        ValueError: *wait*, *ttl*, *lease* or *max_body* is out of its range.
    """

    def __init__(  # noqa: PLR0913 (its parameters are the options of the middleware)
        self,
        app: ASGIApp,
        *,
        user: UserOf,
        name: str = "http",
        hf: AsyncHoldfast | None = None,
        methods: Iterable[str] = ("POST", "PATCH"),
        required: bool = False,
        wait: float | timedelta | None = 0.0,
        ttl: float | timedelta = 86_400.0,
        lease: float | timedelta = 60.0,
        max_body: int = _BODY,
    ) -> None:
        self._app = app
        self._user = user
        self._name = name
        self._hf = hf
        if isinstance(methods, str):
            raise TypeError(f"methods must be several names, such as ('POST',), got {methods!r}")
        self._methods = frozenset(method.upper() for method in methods)
        self._required = required
        self._wait = wait
        self._ttl = ttl
        self._lease = lease
        self._max_body = max_body
        self._check_options()

    def _check_options(self) -> None:
        """Raise for a wrong option now, so that it does not fail at the first request."""
        if not callable(self._user):
            raise TypeError(f"user must be a function of the scope, got {self._user!r}")
        if self._hf is not None and not isinstance(self._hf, AsyncHoldfast):
            raise TypeError(f"hf must be an AsyncHoldfast, got {type(self._hf).__name__}")
        _check_number("max_body", self._max_body)
        wait = self._wait.total_seconds() if isinstance(self._wait, timedelta) else self._wait
        if wait is not None:
            _check_number("wait", wait)
            if wait > _LONGEST_WAIT_S:
                raise ValueError(f"wait must be at most 366 days, got {wait:g} s")
        with unconnected() as hf:
            hf.idempotency(self._name, ttl=self._ttl, lease=self._lease)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one connection, as ASGI defines it."""
        if scope["type"] != "http" or scope["method"] not in self._methods:
            await self._app(scope, receive, send)
            return
        try:
            key, user = self._key(scope), self._user(scope)
            if key is None or user is None:
                await self._app(scope, receive, send)
                return
            body = await self._body(receive)
            call = await self._begin(scope, user, key, body)
        except _RefusedRequest as refusal:
            for message in refusal.messages:
                await send(message)
            return
        if call.answer is not None:
            await _replay(call.answer, send)
            return
        await self._run(call, scope, _replayed_body(body, receive), send)

    async def _run(
        self, call: AsyncIdempotentCall, scope: Scope, receive: Receive, send: Send
    ) -> None:
        """Run the application. Store the response, or free the key, before the response ends."""

        async def end(recorder: ResponseRecorder) -> None:
            if recorder.is_kept:
                await _store(call, recorder.stored())
            else:
                await _release(call)

        # A server that sends files by their paths would send an answer that is not recorded.
        extensions = scope.get("extensions") or {}
        scope["extensions"] = {name: extensions[name] for name in extensions.keys() - _UNRECORDED}
        async with call:  # frees the key, unless the answer is stored
            await self._app(scope, receive, ResponseRecorder(send, end))

    def _key(self, scope: Scope) -> str | None:
        """Return the key of a request; None: it has none."""
        found = [value for name, value in scope["headers"] if name == b"idempotency-key"]
        if not found:
            if self._required:
                raise _RefusedRequest(400, "Bad Request", "send a header field Idempotency-Key")
            return None
        key: str = found[0].decode("latin-1")
        if len(found) > 1 or not 0 < len(key) <= MAX_KEY:
            detail = f"send one Idempotency-Key of 1 to {MAX_KEY} characters"
            raise _RefusedRequest(400, "Bad Request", detail)
        return key

    async def _body(self, receive: Receive) -> bytes:
        parts, size, more = [], 0, True
        while more:
            message = await receive()
            if message["type"] == "http.disconnect":
                raise _RefusedRequest(400, "Bad Request", "the body is incomplete")
            parts.append(message.get("body", b""))
            size += len(parts[-1])
            if size > self._max_body:
                detail = f"a request with an Idempotency-Key has at most {self._max_body:,} bytes"
                raise _RefusedRequest(413, "Content Too Large", detail)
            more = message.get("more_body", False)
        return b"".join(parts)

    async def _begin(self, scope: Scope, user: str, key: str, body: bytes) -> AsyncIdempotentCall:
        hf = self._hf or client_of(scope)
        store = hf.idempotency(self._name, ttl=self._ttl, lease=self._lease)
        path = scope.get("raw_path") or scope["path"].encode()
        asked = msgspec.msgpack.encode((scope["method"], path, scope["query_string"], body))
        try:
            call = await store.begin(key, asked, user=user, wait=self._wait)
        except ServerUnavailable as error:
            logger.warning("a request was refused: %s", error)
            detail = "nothing was done; try again with the same key"
            raise _RefusedRequest(503, "Service Unavailable", detail, retry_after="1") from None
        if call.state == "conflict":
            detail = "this Idempotency-Key was used for another request; use a new one"
            raise _RefusedRequest(422, "Unprocessable Content", detail)
        if call.state == "running":
            detail = "the first request with this Idempotency-Key still runs; try again later"
            raise _RefusedRequest(409, "Conflict", detail, retry_after="1")
        return call


def _check_number(what: str, value: object) -> None:
    """Raise if *value* is no number, or negative."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise TypeError(f"{what} must be a number, got {type(value).__name__}")
    if not value >= 0:  # NaN included
        raise ValueError(f"{what} must be 0 or more, got {value!r}")


async def _store(call: AsyncIdempotentCall, response: StoredResponse) -> None:
    """Store the response. Only log a failure, because the client must get the response anyway."""
    try:
        if not await call.finish(response.packed()):
            logger.warning("%r lost its key before it ended: it may run a second time", call)
    except HoldfastError as error:
        logger.warning("the answer of %r is not stored, it may run a second time: %s", call, error)


async def _release(call: AsyncIdempotentCall) -> None:
    """Free the key now, so that a repetition can run as soon as the client has the answer."""
    with suppress(HoldfastError):  # the key is then free when the lease ends
        await call.release()


async def _replay(answer: bytes, send: Send) -> None:
    response = StoredResponse.parsed(answer)
    if response.status != TOO_LARGE:
        await response.send(send)
        return
    detail = "the request was done, but its answer was too large to be kept"
    for message in problem(409, "Conflict", detail, idempotent_replayed="true"):
        await send(message)


def _replayed_body(body: bytes, receive: Receive) -> Receive:
    """Return an ASGI function that returns *body* at first, and then calls *receive*."""
    pending: list[dict[str, Any]] = [{"type": "http.request", "body": body, "more_body": False}]

    async def replay() -> Message:
        return pending.pop() if pending else await receive()

    return replay
