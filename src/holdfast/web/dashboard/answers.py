"""Answers: a page as HTML, its twin as JSON, and what went wrong as either."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from functools import cache, partial
from typing import Any, Final

import jinja2
from starlette.requests import Request
from starlette.responses import Response

from ... import HoldfastError, OutcomeUnknown, ServerRefused, ServerUnavailable
from ..policy import fresh_policy
from ..problems import Problem, problem_of
from ..visit import JSON
from .access import Visitor
from .assets import asset_path
from .deed import Deed
from .look import base_of, linked, path_of
from .places import way_back
from .said import forget_said, said_before
from .screens import GROUPS
from .sheet import Sheet
from .words import FILTERS, plain_json

HTML: Final = "text/html"

SENT_WITH_FORMS: Final = {"Referrer-Policy": "same-origin"}
"""Without a referrer a browser sends the Origin `null` with a form, which nobody can check."""


def wants_json(request: Request) -> bool:
    """Whether a program asks: it says so, or the path ends in `.json`."""
    accepted = request.headers.get("accept", "")
    return request.scope["path"].endswith(".json") or (JSON in accepted and HTML not in accepted)


def is_beat(request: Request) -> bool:
    """Whether a page that is open already asks for its newer self."""
    return "hx-request" in request.headers


def json_page(found: Mapping[str, Any], at: datetime) -> Response:
    """The twin of a page."""
    return Response(plain_json({**found, "as_of": at}), media_type=JSON)


def csv_page(name: str, sheet: Sheet) -> Response:
    """A page as a file for spreadsheets."""
    headers = {"Content-Disposition": f'attachment; filename="{name}.csv"'}
    return Response(sheet.csv(), media_type="text/csv", headers=headers)


def html_page(
    request: Request, template: str, status: int = 200, /, *, visitor: Visitor | None, **shown: Any
) -> Response:
    """A page, with a policy of its own."""
    base, (nonce, headers) = base_of(request), fresh_policy(forms="'self'")
    said = "" if is_beat(request) or visitor is None else said_before(request)
    context = {
        "at": datetime.now(UTC),
        "asset": lambda name: linked(base, asset_path(name)),
        "here": request.scope["path"],
        "link": partial(linked, base),
        "nonce": nonce,
        "path": path_of(request),
        "query": request.url.query,
        "said": said,
        "visitor": visitor,
    }
    html = _templates().get_template(template).render({**context, **shown})
    response = Response(html, status, {**SENT_WITH_FORMS, **headers}, HTML)
    if said:
        forget_said(response, request)
    return response


def trouble(
    request: Request, error: Exception, *, visitor: Visitor | None, deed: Deed | None = None
) -> Response:
    """What to say about *error*; who is logged in is told where the server is.

    Args:
        request: that failed.
        error: why.
        visitor: who asked; None: nobody knows.
        deed: the action that failed, which may be repeated.
    """
    problem = problem_of(_told(error), deed.key if deed else None)
    if wants_json(request):
        return problem.response()
    away = isinstance(error, ServerUnavailable) and not isinstance(error, ServerRefused)
    shown = {
        "problem": problem,
        "detail": str(error) if visitor and isinstance(error, HoldfastError) else problem.detail,
        "again": deed if problem.kind == "outcome-unknown" else None,
        "back": base_of(request) + way_back(deed.fields) if deed else "",
    }
    template = "diagnosis.html" if away and visitor else "problem.html"
    response = html_page(request, template, problem.status, visitor=visitor, **shown)
    response.headers.update(problem.headers)
    return response


def _told(error: Exception) -> Exception:
    """The rest of the tree of errors tells what to do as well: it is about what was asked for."""
    known = isinstance(error, ServerUnavailable | OutcomeUnknown | Problem)
    if known or not isinstance(error, HoldfastError):
        return error
    return Problem("conflict", str(error))


@cache
def _templates() -> jinja2.Environment:
    found = jinja2.Environment(
        loader=jinja2.PackageLoader("holdfast.web.dashboard"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    found.filters.update(FILTERS)
    found.globals["navigation"] = GROUPS
    return found
