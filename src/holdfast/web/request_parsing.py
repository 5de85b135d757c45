"""Parse request bodies, JSON, numbers and idempotency keys, and write JSON responses."""

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
"""Messages in one response, and items on one page, at most."""

KEY_HEADER: Final = "idempotency-key"
MAX_KEY_LENGTH: Final = 200


async def read_body(request: Request, limit: int) -> bytes:
    """Return the body of *request*.

    Raises:
        Problem: the body is larger than *limit* bytes. The rest of it is not read.
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
        Problem: *data* is not JSON, or does not match the type *kind*.
    """
    try:
        return msgspec.json.decode(data, type=kind)
    except RecursionError:
        raise Problem("bad-request", "the JSON is nested too deeply") from None
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise Problem("bad-request", f"the JSON is not valid here: {error}") from None


def json_response(value: Any, status: int = 200, **headers: str) -> Response:
    """Return a response with *value* as JSON."""
    return Response(msgspec.json.encode(value), status, headers, JSON)


def parse_number(given: str, what: str, least: int, most: int) -> int:
    """Return the number in *given*.

    Args:
        given: the text that the client sent.
        what: the name of the parameter; an error message shows it.
        least: the smallest allowed number.
        most: the largest allowed number.

    Raises:
        Problem: *given* is not a whole number in this range.
    """
    number = int(given) if given.isascii() and given.isdecimal() and len(given) <= 20 else -1
    if not least <= number <= most:
        raise Problem("bad-request", f"{what} must be {least} to {most:,}, got {given[:40]!r}")
    return number


def new_key() -> str:
    """Return a random idempotency key for a request that has none."""
    return secrets.token_urlsafe(16)


def idempotency_key(given: str | None) -> str:
    """Return *given*, the idempotency key of a request, or a new key if it is None.

    Raises:
        Problem: the key is empty or too long.
    """
    if given is None:
        return new_key()
    if not 0 < len(given) <= MAX_KEY_LENGTH:
        raise Problem("bad-request", f"an Idempotency-Key has 1 to {MAX_KEY_LENGTH} characters")
    return given


def op_id(user: str, key: str) -> str:
    """Return the operation id for the write of *user* with the idempotency key *key*.

    The id depends on the user, so that no user can get the result of another user's write. It is
    short, because it becomes the id of a chat if the write creates one.
    """
    digest = hashlib.sha256(msgspec.json.encode((user, key))).digest()
    return f"web-{urlsafe_b64encode(digest[:15]).decode()}"


def _too_large(limit: int) -> Problem:
    return Problem("too-large", f"a request takes at most {limit:,} bytes; send a reference")
