"""What the last action did, shown on the next page: a signed cookie between the two, read once."""

from __future__ import annotations

import binascii
import hmac
from base64 import urlsafe_b64decode, urlsafe_b64encode
from typing import Final

from starlette.requests import Request
from starlette.responses import Response

from .cookies import cookie, delete_cookie, set_cookie, signature

COOKIE: Final = "holdfast_said"

_LONGEST: Final = 1000
_SECONDS: Final = 60


def say_next(response: Response, request: Request, said: str) -> None:
    """Have the next page say *said*."""
    text = urlsafe_b64encode(said[:_LONGEST].encode()).decode()
    value = f"{text}.{signature(request, text)}"
    set_cookie(response, request, COOKIE, value, samesite="strict", max_age=_SECONDS)


def said_before(request: Request) -> str:
    """Return what there is to say, if this dashboard wrote it; mostly nothing."""
    text, _, signed = (cookie(request, COOKIE) or "").partition(".")
    if not hmac.compare_digest(signature(request, text).encode(), signed.encode()):
        return ""
    try:
        return urlsafe_b64decode(text).decode()
    except (binascii.Error, ValueError):
        return ""


def forget_said(response: Response, request: Request) -> None:
    """Delete what was said."""
    delete_cookie(response, request, COOKIE)
