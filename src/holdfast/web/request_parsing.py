"""Parse what clients send: bodies, JSON, numbers and idempotency keys; and write JSON."""

from __future__ import annotations

import hashlib
import secrets
from base64 import urlsafe_b64encode
from typing import Any, Final

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from .problems import Problem

JSON: Final = "application/json"

MAX_ITEMS: Final = 500
"""Messages in one answer, and rows on one page."""

KEY_HEADER: Final = "idempotency-key"
MAX_KEY_LENGTH: Final = 200


async def read_body(request: Request, limit: int) -> bytes:
    """Return the body of *request*.

    Raises:
        Problem: it is larger than *limit* bytes; the rest is not read.
    """
    body = bytearray()
    announced = request.headers.get("content-length", "0")
    if announced.isdecimal() and int(announced) > limit:
        raise _too_large(limit)
    async for part in request.stream():
        body += part
        if len(body) > limit:
            raise _too_large(limit)
    return bytes(body)


def decode_json(data: bytes | str, kind: Any) -> Any:
    """Return the JSON value in *data*.

    Raises:
        Problem: *data* is not JSON, or not of this *kind*. The problem names the place.
    """
    try:
        return msgspec.json.decode(data, type=kind)
    except RecursionError:
        raise Problem("bad-request", "the JSON is nested too deeply") from None
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise Problem("bad-request", f"the JSON is not valid here: {error}") from None


def json_response(value: Any, status: int = 200, **headers: str) -> Response:
    """Return *value* as JSON."""
    return Response(msgspec.json.encode(value), status, headers, JSON)


def parse_number(given: str, what: str, least: int, most: int) -> int:
    """Return the number in *given*.

    Args:
        given: as the client sent it.
        what: the name of the parameter, for the problem.
        least: the smallest number that is allowed.
        most: the largest one.

    Raises:
        Problem: *given* is not a whole number in this range.
    """
    number = int(given) if given.isascii() and given.isdecimal() and len(given) <= 20 else -1
    if not least <= number <= most:
        raise Problem("bad-request", f"{what} must be {least} to {most:,}, got {given[:40]!r}")
    return number


def new_key() -> str:
    """Return an idempotency key for a write that was sent without one."""
    return secrets.token_urlsafe(16)


def idempotency_key(given: str | None) -> str:
    """Return the key that a client sent with its write, or a new one.

    Raises:
        Problem: the key is empty or too long.
    """
    if given is None:
        return new_key()
    if not 0 < len(given) <= MAX_KEY_LENGTH:
        raise Problem("bad-request", f"an Idempotency-Key has 1 to {MAX_KEY_LENGTH} characters")
    return given


def op_id(user: str, key: str) -> str:
    """Return the operation id of the write that *user* identifies by *key*.

    It depends on the user, so no user can repeat a write of another one. It is short because it
    may become the id of a chat.
    """
    digest = hashlib.sha256(msgspec.json.encode((user, key))).digest()
    return f"web-{urlsafe_b64encode(digest[:15]).decode()}"


def _too_large(limit: int) -> Problem:
    return Problem("too-large", f"a request takes at most {limit:,} bytes; send a reference")
