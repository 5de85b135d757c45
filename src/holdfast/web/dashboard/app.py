"""The application: which routes there are, and what stands before each of them."""

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
from ..audit import Reads, record
from ..gate import TOO_MANY, Gate, new_key
from ..guard import LOOPBACK_HOSTS, Guard, checked_hosts
from ..limits import Limits
from ..problems import Problem, http_problem
from ..visit import answer, key_of
from .access import Access, Visitor
from .answers import csv_page, html_page, is_beat, json_page, trouble, wants_json
from .assets import asset
from .audit import audited
from .cookies import pass_of
from .deed import Deed, Fields, fields_of
from .login import log_in, log_out, show_login, visitor_of
from .look import Look, base_of, linked
from .places import START, page_wanted, way_back
from .said import say_next
from .screen import Action, Page
from .screens import SCREENS

PRIVATE: Final = ("chat", "mailbox")
"""Pages that show messages of users."""

NAMING: Final = ("id", "name")
"""What names, in the query, what a page shows."""

REPEATED_S: Final = 3000.0
"""For so long a page may offer to repeat an action: the server knows its key for an hour."""

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
    """The dashboard as an application of its own, or to be mounted in one of yours.

    Args:
        hf: what it shows. It is yours to close, after the application.
        access: says who a request comes from, and what they may do; `Passes(secret)`, or yours.
        hosts: the names under which it is reached, as of `gateway`.
        limits: on rates and sizes; by default those of `Limits`.
        arguments: whether it shows what is in tasks, messages and rows; False leaves that out,
            also in the JSON.
    """
    gate = Gate(hf, access.visitor_of, limits or Limits(), authenticator=access)
    guard = Middleware(Guard, hosts=checked_hosts(hosts), addresses=gate.addresses)
    app = Starlette(
        routes=list(ROUTES),
        middleware=[guard],
        exception_handlers={HTTPException: _no_such_route},
    )
    app.router.redirect_slashes = False  # no answer before it is known who asks
    app.state.gate, app.state.reads = gate, Reads()
    app.state.cookie_key = getattr(access, "cookie_key", None) or secrets.token_bytes(32)
    app.state.arguments = arguments
    return app


def _page(page: Page) -> Iterator[Route]:
    """Its HTML, its JSON, and if it is a table its CSV; for viewers."""

    async def show(request: Request, visitor: Visitor) -> Response:
        look = Look(request.app.state.gate.hf, request, visitor, request.app.state.arguments)
        found = await page.show(look)
        _record_read(look, page)
        if wants_json(request):
            return json_page(found, look.at)
        if page.sheet and request.scope["path"].endswith(".csv"):
            return csv_page(page.path, page.sheet(found))
        shown = {"look": look, "query": urlencode(look.query), **found}
        return html_page(request, page.template, visitor=visitor, **shown)

    endpoint = _for_visitors(show)
    yield Route(f"/{page.path}", endpoint, methods=["GET"])
    yield Route(f"/{page.path or 'overview'}.json", endpoint, methods=["GET"])
    if page.sheet:
        yield Route(f"/{page.path}.csv", endpoint, methods=["GET"])


def _record_read(look: Look, page: Page) -> None:
    """Record that messages of others were shown; a page that renews itself once in a while."""
    reads: Reads = look.request.app.state.reads
    visitor, query = look.visitor, look.request.query_params
    target = {key: query[key] for key in NAMING if key in query}
    if page.path in PRIVATE and reads.is_new(visitor.name, page.path, *target.values()):
        outcome = "shown" if look.arguments else "shown without messages"
        record(visitor.name, visitor.role, f"read {page.path}", target, outcome)


async def _tried(request: Request) -> Fields:
    """Return what a form says that is refused anyway."""
    try:
        return await fields_of(request, request.app.state.gate.limits.request_bytes)
    except Problem:
        return {}


def _action(action: Action) -> Route:
    """A POST of operators, with a record of what came of it."""

    async def act(request: Request, visitor: Visitor) -> Response:
        if not visitor.may("operator"):
            audited(visitor, action.path, await _tried(request), "refused: for operators")
            raise Problem("forbidden", f"{action.path} is for operators; you are a {visitor.role}")
        gate: Gate[Visitor] = request.app.state.gate
        fields = await fields_of(request, gate.limits.request_bytes)
        deed = Deed(gate.hf, visitor, fields, _key_in(fields), not wants_json(request))
        try:
            done = await action.do(deed)
        except Exception as error:  # noqa: BLE001 (told and logged by `trouble`)
            audited(visitor, action.path, fields, f"failed: {type(error).__name__}")
            return trouble(request, error, visitor=visitor, deed=deed)
        audited(visitor, action.path, fields, done.said)
        if wants_json(request):
            return answer({"said": done.said, "changed": done.changed})
        response = RedirectResponse(base_of(request) + way_back(fields), 303)
        say_next(response, request, done.said)
        return response

    return Route(f"/{action.path}", _for_visitors(act), methods=["POST"])


def _for_visitors(serve: Served) -> Endpoint:
    """Lets in only who has a pass, not too often, and answers whatever goes wrong."""

    async def endpoint(request: Request) -> Response:
        gate: Gate[Visitor] = request.app.state.gate
        visitor = None
        try:
            visitor = await visitor_of(gate, request)
            await gate.check_not_revoked(request, visitor, pass_of(request))
            gate.users.demand(visitor.name, TOO_MANY)
            return await serve(request, visitor)
        except ClientDisconnect:
            return Response(status_code=400)  # nobody is there to read it
        except Problem as problem:
            if problem.status == 401 and not wants_json(request):
                return _to_login(request)
            return trouble(request, problem, visitor=visitor)
        except Exception as error:  # noqa: BLE001 (the last one to catch it: `trouble` logs it)
            return trouble(request, error, visitor=visitor)

    return endpoint


def _for_all(serve: Endpoint) -> Endpoint:
    """What needs no pass."""

    async def endpoint(request: Request) -> Response:
        try:
            return await serve(request)
        except ClientDisconnect:
            return Response(status_code=400)
        except Exception as error:  # noqa: BLE001 (the last one to catch it: `trouble` logs it)
            return trouble(request, error, visitor=None)

    return endpoint


def _to_login(request: Request) -> Response:
    """Lead to the page that takes a pass, and from there back to the page that was asked for."""
    wanted = page_wanted(request)
    where = linked(base_of(request), "login", next=None if wanted == START else wanted)
    if is_beat(request):
        return Response(status_code=401, headers={"HX-Redirect": where})
    return RedirectResponse(where, 303)


def _key_in(fields: Fields) -> str:
    """Return the key of an action that is repeated, or a new one, which says since when it is.

    Raises:
        Problem: it is so old that the server may have forgotten it, and would do it again.
    """
    given = next(iter(fields.get("key", ())), None)
    if given is None:
        return f"{int(time.time())}-{new_key()}"
    made = _MADE.fullmatch(given)
    if made and time.time() - int(made[1]) > REPEATED_S:
        raise Problem("conflict", "this was asked for long ago: see what was done, and ask again")
    return key_of(given)


_MADE: Final = re.compile(r"([0-9]{10})-[\w-]+")
"""A key that was made here."""


async def _no_such_route(request: Request, error: Exception) -> Response:
    return trouble(request, http_problem(request, error), visitor=None)


ROUTES: Final = (
    *(route for screen in SCREENS for page in screen.pages for route in _page(page)),
    *(_action(action) for screen in SCREENS for action in screen.actions),
    Route("/login", _for_all(show_login), methods=["GET"]),
    Route("/login", _for_all(log_in), methods=["POST"]),
    Route("/logout", _for_all(log_out), methods=["POST"]),
    Route("/assets/{hash}/{name:path}", _for_all(asset), methods=["GET"]),
)
