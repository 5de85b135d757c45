"""Cookies of the dashboard: the pass, and what the last action did.

Over TLS their names begin with `__Host-`: no other host, and no page without TLS, can set them.
"""

from __future__ import annotations

import hmac
from typing import Final, Literal

from starlette.requests import Request
from starlette.responses import Response

from ..gate import bearer
from ..guard import is_encrypted, is_secure
from .look import base_of

PASS: Final = "holdfast_pass"  # noqa: S105 (the name of a cookie)
SECURE: Final = "__Host-"


def set_cookie(
    response: Response,
    request: Request,
    name: str,
    value: str,
    *,
    samesite: Literal["lax", "strict"],
    max_age: int | None = None,
) -> None:
    """Set a cookie that scripts cannot read, for this dashboard; over TLS for TLS only."""
    secure = is_secure(request)
    response.set_cookie(
        SECURE + name if secure else name,
        value,
        max_age=max_age,
        path="/" if secure else f"{base_of(request)}/",
        secure=secure,
        httponly=True,
        samesite=samesite,
    )


def cookie(request: Request, name: str) -> str | None:
    """Return the value of a cookie; over TLS only of one that was set over TLS."""
    found = request.cookies.get(SECURE + name)
    return request.cookies.get(name) if found is None and not is_encrypted(request.scope) else found


def delete_cookie(response: Response, request: Request, name: str) -> None:
    """Have the browser forget a cookie, however it was set."""
    response.delete_cookie(SECURE + name, path="/", secure=True, httponly=True)
    response.delete_cookie(name, path=f"{base_of(request)}/", httponly=True)


def pass_of(request: Request) -> str | None:
    """Return the pass of a request: of its headers, or of the cookie."""
    return bearer(request) or cookie(request, PASS)


def signature(request: Request, text: str) -> str:
    """Sign *text* as of this dashboard."""
    key: bytes = request.app.state.cookie_key
    return hmac.digest(key, b"holdfast flash\0" + text.encode(), "sha256").hex()
