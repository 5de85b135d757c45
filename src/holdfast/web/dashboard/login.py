"""Logging in with a pass, which becomes a cookie that scripts cannot read; and out."""

from __future__ import annotations

from typing import Final

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from ..audit import NOBODY, record
from ..gate import Gate, bearer, client_address
from ..guard import SAFE_METHODS, same_origin
from ..problems import Problem
from .access import Visitor
from .answers import html_page, wants_json
from .cookies import PASS, delete_cookie, pass_of, set_cookie
from .deed import fields_of
from .look import base_of, linked
from .places import START, page_here

LOGIN_BYTES: Final = 16 << 10
"""Bytes of the form that logs in: everybody can send it."""


async def visitor_of(gate: Gate[Visitor], request: Request) -> Visitor:
    """Return whom the pass of a request proves; it may be revoked.

    Raises:
        Problem: nobody whom the pass of the request proves; or it changes something, has no pass
            but the cookies that a browser adds by itself, and says not which page it comes from.
    """
    visitor = await gate.proven(request, pass_of(request))
    if (
        request.method not in SAFE_METHODS
        and bearer(request) is None
        and not same_origin(request.headers)
    ):
        record(visitor.name, visitor.role, request.scope["path"], {}, "refused: another site")
        raise Problem("cross-site", "the browser does not say that a page of here sent this")
    return visitor


async def show_login(request: Request) -> Response:
    """Show where to put the pass. A link with one in its fragment puts it there by itself.

    Who is logged in already is asked before that pass takes the place of the present one.
    """
    wanted = page_here(request.query_params.get("next", START))
    shown = {"refused": "", "wanted": wanted, "present": await _name(request)}
    return html_page(request, "login.html", visitor=None, **shown)


async def log_in(request: Request) -> Response:
    """Keep the pass in a cookie, if it is one."""
    gate: Gate[Visitor] = request.app.state.gate
    fields = await fields_of(request, LOGIN_BYTES)
    token = (fields.get("pass") or [""])[0].strip()
    wanted = page_here((fields.get("next") or [START])[0])
    try:
        visitor = await gate.proven(request, token)  # whether it is revoked, each page asks
    except Problem as problem:
        if wants_json(request) or problem.status != 401:
            raise
        refused = "This pass is not good: it is forged, or over."
        shown = {"refused": refused, "wanted": wanted, "present": await _name(request)}
        return html_page(request, "login.html", 401, visitor=None, **shown)
    response = RedirectResponse(base_of(request) + wanted, 303)
    set_cookie(response, request, PASS, token, samesite="lax")
    record(visitor.name, visitor.role, "login", {"address": client_address(request)}, "logged in")
    return response


async def log_out(request: Request) -> Response:
    """Forget the pass."""
    name = await _name(request)
    record(name or NOBODY, NOBODY, "logout", {"address": client_address(request)}, "logged out")
    response = RedirectResponse(linked(base_of(request), "login"), 303)
    delete_cookie(response, request, PASS)
    return response


async def _name(request: Request) -> str:
    """Return who is logged in; empty if nobody is."""
    gate: Gate[Visitor] = request.app.state.gate
    found = pass_of(request)
    visitor = None if found is None else await gate.known(request, found)
    return visitor.name if visitor else ""
