"""Set, read and delete the cookies of the dashboard: the pass and the flash message.

Over TLS the names of the cookies begin with `__Host-`, so that neither another host nor a page
without TLS can set them.
"""

from __future__ import annotations

import hmac
from typing import Final, Literal

from starlette.requests import Request
from starlette.responses import Response

from ..security_middleware import is_encrypted, is_secure
from ..shared_state import bearer_token
from .page_request import base_of

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
    """Set a cookie that scripts cannot read. If set over TLS, browsers send it only over TLS.

    Without *max_age* (seconds) browsers keep the cookie until they are closed.
    """
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
    """Return the value of a cookie, or None. Over TLS, ignore a cookie that was set without TLS."""
    found = request.cookies.get(SECURE + name)
    return request.cookies.get(name) if found is None and not is_encrypted(request.scope) else found


def delete_cookie(response: Response, request: Request, name: str) -> None:
    """Delete a cookie, whether it was set over TLS or not."""
    response.delete_cookie(SECURE + name, path="/", secure=True, httponly=True)
    response.delete_cookie(name, path=f"{base_of(request)}/", httponly=True)


def pass_of(request: Request) -> str | None:
    """Return the pass in the header Authorization or in the cookie of a request, or None."""
    return bearer_token(request) or cookie(request, PASS)


def signature(request: Request, text: str) -> str:
    """Return a signature of *text* that all processes with the same secret can verify."""
    key: bytes = request.app.state.cookie_key
    return hmac.digest(key, b"holdfast flash\0" + text.encode(), "sha256").hex()
