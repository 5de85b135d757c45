"""Build the dashboard application: its routes, and the checks before each of them."""

from __future__ import annotations

import re
import secrets
import time
from collections.abc import Awaitable, Callable, Iterable, Iterator
from typing import Final
from urllib.parse import urlencode

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from ... import AsyncHoldfast
from ..audit_log import RecentReads, record
from ..limits import Limits
from ..problems import Problem, http_problem
from ..request_parsing import idempotency_key, json_response, new_key
from ..security_middleware import LOOPBACK_HOSTS, SecurityMiddleware, checked_hosts
from ..shared_state import TOO_MANY, SharedState
from .access import Access, Visitor
from .action_request import ActionRequest, Fields, read_fields, record_action
from .cookies import pass_of
from .flash import set_flash
from .login import authenticated_visitor, log_in, log_out, show_login
from .page_request import PageRequest, base_of, linked
from .responses import csv_page, error_page, html_page, is_update, json_page, wants_json
from .return_pages import START, requested_page, return_page
from .screen import Action, Page
from .screens import SCREENS
from .static_files import asset

PRIVATE_PAGES: Final = ("chat", "mailbox")
"""Pages that show messages of users. The audit log records who reads these pages."""

TARGET_PARAMS: Final = ("id", "name")
"""Query parameters that name the chat or mailbox on a page."""

MAX_KEY_AGE_S: Final = 3000.0
"""Seconds within which an action can be repeated with its idempotency key. The limit is below the
hour for which the server keeps the key."""

Endpoint = Callable[[Request], Awaitable[Response]]
Served = Callable[[Request, Visitor], Awaitable[Response]]


def dashboard(
    hf: AsyncHoldfast,
    *,
    access: Access,
    hosts: Iterable[str] = LOOPBACK_HOSTS,
    limits: Limits | None = None,
    arguments: bool = True,
) -> Starlette:
    """Return the dashboard as an application. Serve it, or mount it in your own application.

    Args:
        hf: the client of the Valkey or Redis server. Close it after the application has stopped.
        access: identifies visitors and their roles: `Passes(secret)`, or an object of yours.
        hosts: the host names and addresses under which clients reach it, as in `gateway`.
        limits: limits on rates and sizes; None: the defaults of `Limits`.
        arguments: whether to show the arguments of tasks and the content of messages and rows, in
            pages and in JSON.
    """
    shared = SharedState(
        hf, access.visitor_of, limits or Limits(), name="dashboard", authenticator=access
    )
    middleware = Middleware(
        SecurityMiddleware, hosts=checked_hosts(hosts), address_rate=shared.address_rate
    )
    app = Starlette(
        routes=list(ROUTES),
        middleware=[middleware],
        exception_handlers={HTTPException: _no_such_route},
    )
    app.router.redirect_slashes = False  # a redirect without authentication would reveal paths
    app.state.shared, app.state.reads = shared, RecentReads()
    app.state.cookie_key = getattr(access, "cookie_key", None) or secrets.token_bytes(32)
    app.state.arguments = arguments
    return app


def _page_routes(page: Page) -> Iterator[Route]:
    """Yield the routes of a page: as HTML, as JSON, and as CSV if the page has a table."""

    async def show(request: Request, visitor: Visitor) -> Response:
        view = PageRequest(
            request.app.state.shared.hf, request, visitor, request.app.state.arguments
        )
        found = await page.show(view)
        _record_read(view, page)
        if wants_json(request):
            return json_page(found, view.at)
        if page.csv_table and request.scope["path"].endswith(".csv"):
            return csv_page(page.path, page.csv_table(found))
        shown = {"view": view, "query": urlencode(view.query), **found}
        return html_page(request, page.template, visitor=visitor, **shown)

    endpoint = _for_visitors(show)
    yield Route(f"/{page.path}", endpoint, methods=["GET"])
    yield Route(f"/{page.path or 'overview'}.json", endpoint, methods=["GET"])
    if page.csv_table:
        yield Route(f"/{page.path}.csv", endpoint, methods=["GET"])


def _record_read(view: PageRequest, page: Page) -> None:
    """Write into the audit log that *page* was read, if it shows messages of users.

    A page updates itself every few seconds. All these updates count as one read.
    """
    reads: RecentReads = view.http.app.state.reads
    visitor, query = view.visitor, view.http.query_params
    target = {key: query[key] for key in TARGET_PARAMS if key in query}
    if page.path in PRIVATE_PAGES and reads.is_new(visitor.name, page.path, *target.values()):
        outcome = "shown" if view.arguments else "shown without messages"
        record(visitor.name, visitor.role, f"read {page.path}", target, outcome)


async def _fields_or_none(request: Request) -> Fields:
    """Return the fields of a form for the audit log; none if the form is malformed."""
    try:
        return await read_fields(request, request.app.state.shared.limits.request_bytes)
    except Problem:
        return {}


def _action_route(operation: Action) -> Route:
    """Return the route of an action. It takes a POST of an operator, and writes the audit log."""

    async def act(request: Request, visitor: Visitor) -> Response:
        if not visitor.may("operator"):
            record_action(
                visitor, operation.path, await _fields_or_none(request), "refused: for operators"
            )
            raise Problem(
                "forbidden", f"{operation.path} is for operators; you are a {visitor.role}"
            )
        shared: SharedState[Visitor] = request.app.state.shared
        fields = await read_fields(request, shared.limits.request_bytes)
        action = ActionRequest(shared.hf, visitor, fields, _key_in(fields), not wants_json(request))
        try:
            result = await operation.do(action)
        except Exception as error:  # noqa: BLE001 (`error_page` logs it)
            record_action(visitor, operation.path, fields, f"failed: {type(error).__name__}")
            return error_page(request, error, visitor=visitor, action=action)
        record_action(visitor, operation.path, fields, result.text)
        if wants_json(request):
            return json_response({"message": result.text, "changed": result.changed})
        response = RedirectResponse(base_of(request) + return_page(fields), 303)
        set_flash(response, request, result.text)
        return response

    return Route(f"/{operation.path}", _for_visitors(act), methods=["POST"])


def _for_visitors(serve: Served) -> Endpoint:
    """Return an endpoint that calls *serve* with an authenticated visitor, within the rate limit.

    It answers exceptions with an error page, and a request without a pass with the login page.
    """

    async def endpoint(request: Request) -> Response:
        shared: SharedState[Visitor] = request.app.state.shared
        visitor = None
        try:
            visitor = await authenticated_visitor(shared, request)
            await shared.check_not_revoked(request, visitor, pass_of(request))
            await shared.user_rate.require(visitor.name, TOO_MANY)
            return await serve(request, visitor)
        except ClientDisconnect:
            return Response(status_code=400)  # never sent, but Starlette needs one
        except Problem as problem:
            if problem.status == 401 and not wants_json(request):
                return _to_login(request)
            return error_page(request, problem, visitor=visitor)
        except Exception as error:  # noqa: BLE001 (the last handler: `error_page` logs it)
            return error_page(request, error, visitor=visitor)

    return endpoint


def _for_everyone(serve: Endpoint) -> Endpoint:
    """Return an endpoint that needs no pass. Answer exceptions of *serve* with an error page."""

    async def endpoint(request: Request) -> Response:
        try:
            return await serve(request)
        except ClientDisconnect:
            return Response(status_code=400)
        except Exception as error:  # noqa: BLE001 (the last handler: `error_page` logs it)
            return error_page(request, error, visitor=None)

    return endpoint


def _to_login(request: Request) -> Response:
    """Redirect to the login page, which redirects to the requested page afterwards."""
    page = requested_page(request)
    where = linked(base_of(request), "login", next=None if page == START else page)
    if is_update(request):
        return Response(status_code=401, headers={"HX-Redirect": where})
    return RedirectResponse(where, 303)


def _key_in(fields: Fields) -> str:
    """Return the idempotency key in *fields*, or a new key that contains the current time.

    Raises:
        Problem: the key is older than `MAX_KEY_AGE_S`. The server may have dropped it, and would do
            the action a second time.
    """
    given = next(iter(fields.get("key", ())), None)
    if given is None:
        return f"{int(time.time())}-{new_key()}"
    made = _TIMED_KEY.fullmatch(given)
    if made and time.time() - int(made[1]) > MAX_KEY_AGE_S:
        raise Problem(
            "conflict",
            "this action is too old to be repeated: check what was done, and start it again",
        )
    return idempotency_key(given)


_TIMED_KEY: Final = re.compile(r"([0-9]{10})-[\w-]+")
"""A key that `_key_in` has made: epoch seconds, and a random part."""


async def _no_such_route(request: Request, error: Exception) -> Response:
    return error_page(request, http_problem(request, error), visitor=None)


ROUTES: Final = (
    *(route for screen in SCREENS for page in screen.pages for route in _page_routes(page)),
    *(_action_route(action) for screen in SCREENS for action in screen.actions),
    Route("/login", _for_everyone(show_login), methods=["GET"]),
    Route("/login", _for_everyone(log_in), methods=["POST"]),
    Route("/logout", _for_everyone(log_out), methods=["POST"]),
    Route("/assets/{hash}/{name:path}", _for_everyone(asset), methods=["GET"]),
)
