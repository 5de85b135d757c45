"""Logging in with a pass, which becomes a cookie that scripts cannot read; and out."""

from __future__ import annotations

from typing import Final

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from ..gate import Gate, bearer
from ..guard import SAFE_METHODS, same_origin
from ..problems import Problem
from .access import Visitor
from .answers import html_page, wants_json
from .deed import fields_of
from .look import base_of, linked
from .places import START, page_here

COOKIE: Final = "holdfast_pass"


async def visitor_of(gate: Gate[Visitor], request: Request) -> Visitor:
    """Who asks.

    Raises:
        Problem: nobody whom the pass of the request proves; or it changes something, has no pass
            but the cookies that a browser adds by itself, and says not which page it comes from.
    """
    visitor = await gate.user_of(request, bearer(request) or request.cookies.get(COOKIE))
    if (
        request.method not in SAFE_METHODS
        and bearer(request) is None
        and not same_origin(request.headers)
    ):
        raise Problem("cross-site", "the browser does not say that a page of here sent this")
    return visitor


async def show_login(request: Request) -> Response:
    """Where to put the pass. A link with one in its fragment does it by itself."""
    wanted = page_here(request.query_params.get("next", START))
    return html_page(request, "login.html", visitor=None, refused="", wanted=wanted)


async def log_in(request: Request) -> Response:
    """Keep the pass in a cookie, if it is one."""
    gate: Gate[Visitor] = request.app.state.gate
    fields = await fields_of(request, gate.limits.request_bytes)
    token = (fields.get("pass") or [""])[0].strip()
    wanted = page_here((fields.get("next") or [START])[0])
    try:
        await gate.user_of(request, token)
    except Problem as problem:
        if wants_json(request) or problem.status != 401:
            raise
        refused = "This pass is not good: it is forged, or over."
        shown = {"refused": refused, "wanted": wanted}
        return html_page(request, "login.html", 401, visitor=None, **shown)
    response = RedirectResponse(base_of(request) + wanted, 303)
    response.set_cookie(
        COOKIE,
        token,
        path=f"{base_of(request)}/",
        secure=request.url.scheme == "https",
        httponly=True,
        samesite="lax",
    )
    return response


async def log_out(request: Request) -> Response:
    """Forget the pass."""
    response = RedirectResponse(linked(base_of(request), "login"), 303)
    response.delete_cookie(COOKIE, path=f"{base_of(request)}/")
    return response
