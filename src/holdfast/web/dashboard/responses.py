"""Build responses: pages as HTML, JSON or CSV, and errors as HTML or JSON."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from functools import cache, partial
from typing import Any, Final

import jinja2
from starlette.requests import Request
from starlette.responses import Response

from ... import HoldfastError, InvalidName, OutcomeUnknown, ServerRefused, ServerUnavailable
from ..problems import Problem, problem_of
from ..request_parsing import JSON
from ..security_middleware import content_policy
from .access import Visitor
from .action_request import ActionRequest
from .csv_table import CsvTable
from .filters import FILTERS, plain_json
from .flash import clear_flash, read_flash
from .page_request import base_of, linked, path_of
from .return_pages import return_page
from .screens import GROUPS
from .static_files import asset_path

HTML: Final = "text/html"

SENT_WITH_FORMS: Final = {"Referrer-Policy": "same-origin"}
"""Headers of pages with forms. With the policy `no-referrer` browsers would send the Origin `null`
with a form, and the origin could not be checked."""


def wants_json(request: Request) -> bool:
    """Return whether the client accepts only JSON, or the path ends in `.json`."""
    accepted = request.headers.get("accept", "")
    return request.scope["path"].endswith(".json") or (JSON in accepted and HTML not in accepted)


def is_update(request: Request) -> bool:
    """Return whether the script of an open page sent *request*, to update the page."""
    return "hx-request" in request.headers


def json_page(found: Mapping[str, Any], at: datetime) -> Response:
    """Return the content *found* of a page as JSON, with the time *at* of the request."""
    return Response(plain_json({**found, "as_of": at}), media_type=JSON)


def csv_page(name: str, csv_table: CsvTable) -> Response:
    """Return the table of a page as a CSV file."""
    headers = {"Content-Disposition": f'attachment; filename="{name}.csv"'}
    return Response(csv_table.csv(), media_type="text/csv", headers=headers)


def html_page(
    request: Request, template: str, status: int = 200, /, *, visitor: Visitor | None, **shown: Any
) -> Response:
    """Return a page as HTML, with the flash message and a new nonce for its scripts."""
    base, (nonce, headers) = base_of(request), content_policy(forms="'self'")
    flash = "" if is_update(request) or visitor is None else read_flash(request)
    context = {
        "at": datetime.now(UTC),
        "asset": lambda name: linked(base, asset_path(name)),
        "here": request.scope["path"],
        "link": partial(linked, base),
        "nonce": nonce,
        "path": path_of(request),
        "query": request.url.query,
        "flash": flash,
        "visitor": visitor,
    }
    html = _templates().get_template(template).render({**context, **shown})
    response = Response(html, status, {**SENT_WITH_FORMS, **headers}, HTML)
    if flash:
        clear_flash(response, request)
    return response


def error_page(
    request: Request,
    error: Exception,
    *,
    visitor: Visitor | None,
    action: ActionRequest | None = None,
) -> Response:
    """Return a page, or JSON, that reports *error*. Only visitors see the address of the server.

    Args:
        request: the request that failed.
        error: the exception that the request raised.
        visitor: the visitor who sent the request; None if the request has no valid pass.
        action: the action that failed. If its outcome is unknown, the page offers to repeat it.
    """
    problem = problem_of(_shown(error), action.key if action else None)
    if wants_json(request):
        return problem.response()
    away = isinstance(error, ServerUnavailable) and not isinstance(error, ServerRefused)
    shown = {
        "problem": problem,
        "detail": str(error) if visitor and isinstance(error, HoldfastError) else problem.detail,
        "again": action if problem.kind == "outcome-unknown" else None,
        "back": base_of(request) + return_page(action.fields) if action else "",
    }
    template = "diagnosis.html" if away and visitor else "problem.html"
    response = html_page(request, template, problem.status, visitor=visitor, **shown)
    response.headers.update(problem.headers)
    return response


def _shown(error: Exception) -> Exception:
    """Return a problem with the text of *error* if it says what to do; otherwise *error* itself."""
    known = isinstance(error, ServerUnavailable | OutcomeUnknown | Problem | InvalidName)
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
