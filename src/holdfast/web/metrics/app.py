"""The application: one route, and what stands before it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from ... import AsyncHoldfast
from ..dashboard import Access, Visitor
from ..gate import TOO_MANY, Gate
from ..guard import LOOPBACK_HOSTS, Guard, checked_hosts
from ..limits import Limits
from ..problems import answer_http_exception, problem_of
from .exposition import exposition
from .survey import surveyed

MOST: Final = 50


def metrics(
    hf: AsyncHoldfast,
    *,
    access: Access,
    hosts: Iterable[str] = LOOPBACK_HOSTS,
    limits: Limits | None = None,
    most: int = MOST,
    counters: Iterable[str] = (),
) -> Starlette:
    """`/metrics` as an application of its own, or to be mounted in one of yours.

    Args:
        hf: what it tells of. It is yours to close, after the application.
        access: as of `dashboard`; any visitor may read, with `Authorization: Bearer …`.
        hosts: the names under which it is reached, as of `gateway`.
        limits: on rates; by default those of `Limits`.
        most: values of one label at most, those with most to do; all others together are `other`.
        counters: whose last hour is told as well, at most *most*; Holdfast cannot know which of
            them are named after users.

    Raises:
        ValueError: *most* is not 1 to 250, or there are more counters than that.
    """
    wanted = tuple(dict.fromkeys(counters))
    if not 1 <= most <= 250:
        raise ValueError(f"most must be 1 to 250, got {most}")
    if len(wanted) > most:
        raise ValueError(f"counters may name {most}, the most values of a label: {len(wanted)}")
    gate = Gate(hf, access.visitor_of, limits or Limits(), authenticator=access)
    app = Starlette(
        routes=[Route("/metrics", _show, methods=["GET"])],
        middleware=[Middleware(Guard, hosts=checked_hosts(hosts), addresses=gate.addresses)],
        exception_handlers={HTTPException: answer_http_exception},
    )
    app.router.redirect_slashes = False
    app.state.gate = gate
    app.state.most, app.state.counters = most, wanted
    return app


async def _show(request: Request) -> Response:
    state = request.app.state
    gate: Gate[Visitor] = state.gate
    try:
        visitor = await gate.user_of(request)
        gate.users.demand(visitor.name, TOO_MANY)
        survey = await surveyed(gate.hf, state.counters)
        text, media = exposition(survey, state.most, request.headers.get("accept", ""))
        return Response(text, headers={"Content-Type": media})
    except Exception as error:  # noqa: BLE001 (the last one to catch it: `problem_of` logs it)
        return problem_of(error).response()
