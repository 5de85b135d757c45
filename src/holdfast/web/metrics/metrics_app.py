"""`GET /metrics`: the state of one namespace, for Prometheus."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from contextlib import suppress
from typing import Final

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from ... import AsyncHoldfast, NotDefined
from ...inspect.survey import SurveyLimits, for_each, survey
from ..dashboard.access import Access, Visitor
from ..limits import Limits
from ..problems import answer_http_exception, problem_of
from ..security_middleware import LOOPBACK_HOSTS, SecurityMiddleware, checked_hosts
from ..shared_state import TOO_MANY, SharedState
from .exposition import exposition

MAX_LABELS: Final = 50

HOUR_S: Final = 3600.0

SURVEY: Final = SurveyLimits(
    queues=250, minutes=2, locks=200, mailboxes=0, chats=0, counters=0,
    row_caches=20, file_feeds=50, tallies=20,
)  # fmt: skip
"""What one request reads: row caches and tallies take several calls each."""


def metrics(
    hf: AsyncHoldfast,
    *,
    access: Access,
    hosts: Iterable[str] = LOOPBACK_HOSTS,
    limits: Limits | None = None,
    most: int = MAX_LABELS,
    counters: Iterable[str] = (),
) -> Starlette:
    """Return `/metrics` as an application, to be served or mounted in yours.

    Args:
        hf: the client of the server. Close it after the application.
        access: as of `dashboard`; every visitor may read, with `Authorization: Bearer …`.
        hosts: the names under which clients reach it, as of `gateway`.
        limits: on rates; by default those of `Limits`.
        most: values of one label at most, those with the highest load; all others together are
            `other`.
        counters: names of counters whose last hour is reported, at most *most*. Holdfast cannot
            know which counters are named after users.

    Raises:
        ValueError: *most* is not 1 to 250, or there are more counters than that.
    """
    reported = tuple(dict.fromkeys(counters))
    if not 1 <= most <= 250:
        raise ValueError(f"most must be 1 to 250, got {most}")
    if len(reported) > most:
        raise ValueError(f"counters may name {most}, the most values of a label: {len(reported)}")
    state = SharedState(hf, access.visitor_of, limits or Limits(), authenticator=access)
    app = Starlette(
        routes=[Route("/metrics", _show, methods=["GET"])],
        middleware=[
            Middleware(
                SecurityMiddleware, hosts=checked_hosts(hosts), address_rate=state.address_rate
            )
        ],
        exception_handlers={HTTPException: answer_http_exception},
    )
    app.router.redirect_slashes = False
    app.state.shared = state
    app.state.most, app.state.counters = most, reported
    return app


async def _show(request: Request) -> Response:
    state = request.app.state
    shared: SharedState[Visitor] = state.shared
    try:
        visitor = await shared.authenticate(request)
        shared.user_rate.require(visitor.name, TOO_MANY)
        found, totals = await asyncio.gather(
            survey(shared.hf, SURVEY),
            for_each(state.counters, lambda name: _last_hour(shared.hf, name)),
        )
        counters = {name: total for name, total in totals.items() if total is not None}
        text, media = exposition(found, counters, state.most, request.headers.get("accept", ""))
        return Response(text, headers={"Content-Type": media})
    except Exception as error:  # noqa: BLE001 (the last handler: `problem_of` logs it)
        return problem_of(error).response()


async def _last_hour(hf: AsyncHoldfast, counter: str) -> int | None:
    """Return the last hour of *counter*, or None if it does not exist or keeps less."""
    with suppress(NotDefined, ValueError):
        return await hf.counter(counter).total(HOUR_S)
    return None
