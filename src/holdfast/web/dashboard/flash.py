"""Show the result of an action once on the next page, as a flash message in a signed cookie."""

from __future__ import annotations

import binascii
import hmac
from base64 import urlsafe_b64decode, urlsafe_b64encode
from typing import Final

from starlette.requests import Request
from starlette.responses import Response

from .cookies import cookie, delete_cookie, set_cookie, signature

COOKIE: Final = "holdfast_flash"

_MAX_LENGTH: Final = 1000
_SECONDS: Final = 60


def set_flash(response: Response, request: Request, text: str) -> None:
    """Set the flash message that the next page shows."""
    encoded = urlsafe_b64encode(text[:_MAX_LENGTH].encode()).decode()
    value = f"{encoded}.{signature(request, encoded)}"
    set_cookie(response, request, COOKIE, value, samesite="strict", max_age=_SECONDS)


def read_flash(request: Request) -> str:
    """Return the flash message if this dashboard signed it, otherwise an empty text."""
    text, _, signed = (cookie(request, COOKIE) or "").partition(".")
    if not hmac.compare_digest(signature(request, text).encode(), signed.encode()):
        return ""
    try:
        return urlsafe_b64decode(text).decode()
    except (binascii.Error, ValueError):
        return ""


def clear_flash(response: Response, request: Request) -> None:
    """Delete the flash message."""
    delete_cookie(response, request, COOKIE)
