"""Serve `GET /metrics`, the state of one namespace for Prometheus."""

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
"""The default number of values of one label."""

HOUR_S: Final = 3600.0

SURVEY: Final = SurveyLimits(
    queues=250, minutes=2, locks=200, mailboxes=0, chats=0, counters=0,
    cached_functions=50, row_caches=20, file_feeds=50, tallies=20,
)  # fmt: skip
"""How many units one request reads. The limits for row caches and tallies are low, because each of
them takes several calls."""


def metrics(
    hf: AsyncHoldfast,
    *,
    access: Access,
    hosts: Iterable[str] = LOOPBACK_HOSTS,
    limits: Limits | None = None,
    most: int = MAX_LABELS,
    counters: Iterable[str] = (),
) -> Starlette:
    """Return `/metrics` as an application. Serve it, or mount it at `/metrics` in your own one.

    Args:
        hf: the client of the Valkey or Redis server. Close it after the application has stopped.
        access: identifies visitors, as in `dashboard`. Every visitor may read the metrics, with the
            header `Authorization: Bearer …`.
        hosts: the host names and addresses under which clients reach it, as in `gateway`.
        limits: limits on rates; None: the defaults of `Limits`.
        most: values of one label at most, 1 to 250: the names with the highest load. All other
            names share the value `other`.
        counters: names of counters; the total of each in the last hour is reported, for *most* of
            them at most. There are none by default, because counters may be named after users.

    Raises:
        ValueError: *most* is not 1 to 250, or there are more than *most* counters.
    """
    reported = tuple(dict.fromkeys(counters))
    if not 1 <= most <= 250:
        raise ValueError(f"most must be 1 to 250, got {most}")
    if len(reported) > most:
        raise ValueError(f"counters may name {most}, the most values of a label: {len(reported)}")
    state = SharedState(
        hf, access.visitor_of, limits or Limits(), name="metrics", authenticator=access
    )
    app = Starlette(
        routes=[Route(path, _show, methods=["GET"]) for path in ("/metrics", "/")],
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
        await shared.user_rate.require(visitor.name, TOO_MANY)
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
    """Return the total of *counter* in the last hour.

    Return None if the counter does not exist, or keeps its samples for less than an hour.
    """
    with suppress(NotDefined, ValueError):
        return await hf.counter(counter).total(HOUR_S)
    return None
