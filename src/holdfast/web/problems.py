"""Convert errors to responses in the format problem+json of RFC 9457."""

from __future__ import annotations

import math
from collections.abc import Mapping
from http import HTTPStatus
from typing import Any, Final

import msgspec
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from .. import (
    ChatExists,
    ClientClosed,
    DecodeError,
    DefinitionConflict,
    MailboxFull,
    NoSuchChat,
    NoSuchMessage,
    NotAMember,
    OutcomeUnknown,
    PayloadTooLarge,
    ServerUnavailable,
    StaleBatch,
    TooManyMembers,
)
from ..errors.one_line_logger import logger_of

logger: Final = logger_of("holdfast.web")

KINDS: Final = {
    "bad-request": (400, "The request is not valid"),
    "unauthorized": (401, "You are not logged in"),
    "forbidden": (403, "You may not do this"),
    "cross-site": (403, "The request comes from a page of another site"),
    "not-found": (404, "It does not exist"),
    "method-not-allowed": (405, "The method is not allowed here"),
    "conflict": (409, "The request conflicts with the current state"),
    "mailbox-full": (409, "The mailbox is full"),
    "stale-position": (409, "The position is no longer valid"),
    "too-large": (413, "The request is too large"),
    "unknown-media": (415, "The Content-Type is missing or unknown"),
    "wrong-host": (421, "This server does not serve this host"),
    "too-many-requests": (429, "Too many requests"),
    "failed": (500, "The server failed"),
    "outcome-unknown": (503, "The outcome is unknown"),
    "unavailable": (503, "The server is unavailable"),
}
"""Kind → HTTP status and title. The kind is the last part of the `type` of a problem."""

NO_SUCH_CHAT: Final = "there is no such chat, or you are not a member of it"


class Problem(Exception):
    """Raised to answer a request with an error.

    Args:
        kind: one of `KINDS`.
        detail: a text about this request that says what to do.
        headers: headers of the response.
        more: further members of the response, such as the idempotency key of the request.
    """

    def __init__(
        self, kind: str, detail: str, *, headers: Mapping[str, str] | None = None, **more: Any
    ) -> None:
        super().__init__(detail)
        status, title = KINDS[kind]
        self.kind = kind
        self.status: int = status
        self.title: str = title
        self.detail = detail
        self.headers: dict[str, str] = dict(headers or {})
        self.more = more

    def fields(self) -> dict[str, Any]:
        """Return the members of the JSON object that reports the problem."""
        return {
            "type": f"urn:holdfast:problem:{self.kind}",
            "title": self.title,
            "status": self.status,
            "detail": self.detail,
            **self.more,
        }

    def response(self) -> Response:
        """Return the HTTP response that reports the problem."""
        return Response(
            msgspec.json.encode(self.fields()),
            self.status,
            self.headers,
            "application/problem+json",
        )


def too_many(detail: str, wait: float) -> Problem:
    """Return a problem with status 429: *detail*, and in how many seconds (*wait*) to try again."""
    seconds = max(1, math.ceil(wait))
    return Problem(
        "too-many-requests",
        f"{detail}; try again in {seconds} s",
        headers={"Retry-After": str(seconds)},
    )


def problem_of(error: Exception, key: str | None = None) -> Problem:
    """Return a problem that reports *error* without private details of the server.

    Args:
        error: the exception that was raised while the request was served.
        key: the idempotency key of the request, if it has one.
    """
    if isinstance(error, Problem):
        return error
    if isinstance(error, OutcomeUnknown):
        detail = f"it was done once or not at all; {_REPEAT}"
        return _later("outcome-unknown", detail, idempotency_key=key)
    if isinstance(error, ServerUnavailable | ClientClosed):
        logger.warning("%s", error)
        return _later("unavailable", "nothing was done; try again")
    for hidden, kind, detail in _HIDDEN_DETAILS:
        if isinstance(error, hidden):
            return Problem(kind, detail)
    for errors, kind in _SHOWN_DETAILS:
        if isinstance(error, errors) and not isinstance(error, DecodeError):
            return Problem(kind, str(error))
    logger.error("a request failed", exc_info=error)
    return Problem("failed", "the log says why")


_HIDDEN_DETAILS: Final = (
    ((NoSuchChat, NotAMember), "not-found", NO_SUCH_CHAT),
    (MailboxFull, "mailbox-full", "the mailbox of this user takes no more; try again later"),
)
"""Errors, their kind, and a text to show instead of their own, which would reveal whether a chat
exists or how full a mailbox is."""

_SHOWN_DETAILS: Final = (
    (StaleBatch, "stale-position"),
    ((ChatExists, TooManyMembers, DefinitionConflict, NoSuchMessage), "conflict"),
    (PayloadTooLarge, "too-large"),
    (ValueError, "bad-request"),  # includes names that are not valid
)
"""Errors and their kind. The problem shows the text of the error."""

_REPEAT: Final = "the same request with this Idempotency-Key does it exactly once"


def _later(kind: str, detail: str, **more: Any) -> Problem:
    return Problem(kind, detail, headers={"Retry-After": "1"}, **more)


async def answer_http_exception(request: Request, error: Exception) -> Response:
    """Return the response to an error of the router: 404 or 405."""
    return http_problem(request, error).response()


def http_problem(request: Request, error: Exception) -> Problem:
    """Return the problem of an unknown route, or of a method that the route does not allow."""
    assert isinstance(error, HTTPException)
    kind = {404: "not-found", 405: "method-not-allowed"}.get(error.status_code, "bad-request")
    where = f"{request.method} {request.url.path}"
    detail = f"{where}: {HTTPStatus(error.status_code).phrase}"
    return Problem(kind, detail, headers=error.headers)
