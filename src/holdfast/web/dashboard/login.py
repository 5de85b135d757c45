"""Log in with a pass, which a cookie stores, and log out."""

from __future__ import annotations

from typing import Final

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from ... import client_address
from ..audit_log import ANONYMOUS, record
from ..problems import Problem
from ..security_middleware import SAFE_METHODS, same_origin
from ..shared_state import SharedState, bearer_token
from .access import Visitor
from .action_request import read_fields
from .cookies import PASS, delete_cookie, pass_of, set_cookie
from .page_request import base_of, linked
from .responses import html_page, wants_json
from .return_pages import START, checked_page

LOGIN_BYTES: Final = 16 << 10
"""Bytes of a login form at most. The limit is low, because everyone may send this form."""


async def authenticated_visitor(shared: SharedState[Visitor], request: Request) -> Visitor:
    """Verify the pass of a request and return its visitor. Do not check whether it is revoked.

    Raises:
        Problem: The pass is missing or invalid, or the request may be a cross-site forgery: a write
            with the pass in a cookie that the browser does not confirm as same-origin.
    """
    visitor = await shared.identify(request, pass_of(request))
    if (
        request.method not in SAFE_METHODS
        and bearer_token(request) is None
        and not same_origin(request.headers)
    ):
        record(visitor.name, visitor.role, request.scope["path"], {}, "refused: another site")
        raise Problem(
            "cross-site", "the browser does not confirm that a page of this dashboard sent this"
        )
    return visitor


async def show_login(request: Request) -> Response:
    """Show the login form. A script fills in the pass from the fragment of a link.

    The script sends the form at once, unless another visitor is logged in.
    """
    page = checked_page(request.query_params.get("next", START))
    shown = {"refused": "", "next": page, "present": await _name(request)}
    return html_page(request, "login.html", visitor=None, **shown)


async def log_in(request: Request) -> Response:
    """Store the pass of the login form in a cookie if it is valid, and redirect to a page."""
    shared: SharedState[Visitor] = request.app.state.shared
    fields = await read_fields(request, LOGIN_BYTES)
    token = (fields.get("pass") or [""])[0].strip()
    page = checked_page((fields.get("next") or [START])[0])
    try:
        # Each page checks whether the pass was revoked, so this function does not.
        visitor = await shared.identify(request, token)
    except Problem as problem:
        if wants_json(request) or problem.status != 401:
            raise
        refused = "This pass is not valid: it is forged or expired."
        shown = {"refused": refused, "next": page, "present": await _name(request)}
        return html_page(request, "login.html", 401, visitor=None, **shown)
    response = RedirectResponse(base_of(request) + page, 303)
    set_cookie(response, request, PASS, token, samesite="lax")
    record(
        visitor.name, visitor.role, "login", {"address": client_address(request.scope)}, "logged in"
    )
    return response


async def log_out(request: Request) -> Response:
    """Delete the cookie with the pass."""
    name = await _name(request)
    record(
        name or ANONYMOUS,
        ANONYMOUS,
        "logout",
        {"address": client_address(request.scope)},
        "logged out",
    )
    response = RedirectResponse(linked(base_of(request), "login"), 303)
    delete_cookie(response, request, PASS)
    return response


async def _name(request: Request) -> str:
    """Return the name of the visitor who is logged in, or an empty text."""
    shared: SharedState[Visitor] = request.app.state.shared
    found = pass_of(request)
    visitor = None if found is None else await shared.find_identity(request, found)
    return visitor.name if visitor else ""
