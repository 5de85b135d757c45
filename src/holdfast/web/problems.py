"""Errors as clients see them: problem+json of RFC 9457."""

from __future__ import annotations

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
from ..errors.records import logger_of

logger = logger_of("holdfast.web")

KINDS: Final = {
    "bad-request": (400, "The request cannot be understood"),
    "unauthorized": (401, "Nobody is logged in"),
    "forbidden": (403, "You may not do this"),
    "cross-site": (403, "The request comes from a page of another site"),
    "not-found": (404, "There is no such thing here"),
    "method-not-allowed": (405, "This cannot be done here"),
    "conflict": (409, "This does not fit what is there"),
    "mailbox-full": (409, "The mailbox is full"),
    "stale-position": (409, "The position is not of this mailbox or chat any more"),
    "too-large": (413, "The request is too large"),
    "unknown-media": (415, "The body says not what it is"),
    "wrong-host": (421, "This host is not served here"),
    "too-many-requests": (429, "Too many requests"),
    "failed": (500, "It failed here"),
    "outcome-unknown": (503, "Perhaps it was done"),
    "unavailable": (503, "The server cannot be reached at the moment"),
}
"""Kind → status and title. A kind is the last part of the `type` of a problem."""

NO_SUCH_CHAT: Final = "there is no such chat, or you are not a member of it"


class Problem(Exception):
    """What went wrong with a request, and what to do about it.

    Args:
        kind: one of `KINDS`.
        detail: a sentence about this request.
        headers: of the answer.
        more: further members of the answer, such as the key with which to repeat.
    """

    def __init__(
        self, kind: str, detail: str, *, headers: Mapping[str, str] | None = None, **more: Any
    ) -> None:
        super().__init__(detail)
        self.kind = kind
        self.status, self.title = KINDS[kind]
        self.detail = detail
        self.headers = dict(headers or {})
        self.more = more

    def fields(self) -> dict[str, Any]:
        """The members of the answer."""
        return {
            "type": f"urn:holdfast:problem:{self.kind}",
            "title": self.title,
            "status": self.status,
            "detail": self.detail,
            **self.more,
        }

    def response(self) -> Response:
        """The answer."""
        return Response(
            msgspec.json.encode(self.fields()),
            self.status,
            self.headers,
            "application/problem+json",
        )


def problem_of(error: Exception, key: str | None = None) -> Problem:
    """What to tell a client about *error*; nothing of the server behind the gateway.

    Args:
        error: what was raised while the request was served.
        key: with which the request can be repeated, if it writes.
    """
    if isinstance(error, Problem):
        return error
    if isinstance(error, OutcomeUnknown):
        detail = f"it was done once, or not at all; {_REPEAT}"
        return _later("outcome-unknown", detail, idempotency_key=key)
    if isinstance(error, ServerUnavailable | ClientClosed):
        logger.warning("%s", error)
        return _later("unavailable", "nothing was done; come again")
    for hidden, kind, detail in _HIDDEN:
        if isinstance(error, hidden):
            return Problem(kind, detail)
    for errors, kind in _TOLD:
        if isinstance(error, errors) and not isinstance(error, DecodeError):
            return Problem(kind, str(error))
    logger.error("a request failed", exc_info=error)
    return Problem("failed", "the log says why")


_HIDDEN: Final = (
    ((NoSuchChat, NotAMember), "not-found", NO_SUCH_CHAT),
    (MailboxFull, "mailbox-full", "the mailbox of this user takes no more; try again later"),
)
"""Errors whose words say too much: whether a chat exists, how much a user has not read."""

_TOLD: Final = (
    (StaleBatch, "stale-position"),
    ((ChatExists, TooManyMembers, DefinitionConflict, NoSuchMessage), "conflict"),
    (PayloadTooLarge, "too-large"),
    (ValueError, "bad-request"),  # wrong arguments, names among them
)
"""What is told in the words of the error itself."""

_REPEAT: Final = "the same request with this Idempotency-Key does it exactly once"


def _later(kind: str, detail: str, **more: Any) -> Problem:
    return Problem(kind, detail, headers={"Retry-After": "1"}, **more)


async def answer_http_exception(request: Request, error: Exception) -> Response:
    """What the router says itself: 404, 405."""
    return http_problem(request, error).response()


def http_problem(request: Request, error: Exception) -> Problem:
    """The problem that the router has with *request*: no such route, or not this method."""
    assert isinstance(error, HTTPException)
    kind = {404: "not-found", 405: "method-not-allowed"}.get(error.status_code, "bad-request")
    where = f"{request.method} {request.url.path}"
    detail = f"{where}: {HTTPStatus(error.status_code).phrase}"
    return Problem(kind, detail, headers=error.headers)
