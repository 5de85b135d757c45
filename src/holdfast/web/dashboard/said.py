"""What the last action did, told on the next page: a cookie between the two, read once."""

from __future__ import annotations

import binascii
from base64 import urlsafe_b64decode, urlsafe_b64encode
from typing import Final

from starlette.requests import Request
from starlette.responses import Response

COOKIE: Final = "holdfast_said"

_LONGEST: Final = 1000
_SECONDS: Final = 60


def say_next(response: Response, request: Request, base: str, said: str) -> None:
    """Have the next page say *said*."""
    response.set_cookie(
        COOKIE,
        urlsafe_b64encode(said[:_LONGEST].encode()).decode(),
        max_age=_SECONDS,
        path=f"{base}/",
        secure=request.url.scheme == "https",
        httponly=True,
        samesite="strict",
    )


def said_before(request: Request) -> str:
    """What there is to say; mostly nothing."""
    try:
        return urlsafe_b64decode(request.cookies.get(COOKIE, "")).decode()
    except (binascii.Error, ValueError):
        return ""


def forget_said(response: Response, base: str) -> None:
    """It was said."""
    response.delete_cookie(COOKIE, path=f"{base}/")
