"""Serve `/v1/tasks/{queue}/{id}/events`: the events of a task, as Server-Sent Events."""

from __future__ import annotations

from contextlib import ExitStack
from importlib import resources
from typing import Final
from urllib.parse import quote

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from ..problems import Problem
from ..request_parsing import parse_number
from ..shared_state import bearer_token
from .authorization import FOLLOW
from .event_stream import EventStream
from .user_request import UserRequest, route

LAST_ID_HEADER: Final = "last-event-id"
MOST: Final = 2**53 - 1

CLIENT: Final = "task_events.js"


async def events(request: UserRequest) -> Response:
    """Send the events of a task, past and future ones, until the task has ended."""
    queue, task_id = request.name("queue"), request.name("id")
    await _require(request, queue, task_id)
    handle = request.hf.queue(queue).handle(task_id)
    held = ExitStack()
    held.enter_context(request.state.waiting.hold(request.user))
    return EventStream(request, handle, _after(request), held)


async def _require(request: UserRequest, queue: str, task_id: str) -> None:
    """Raise unless the token names the task, or the authorization hook allows reading it.

    Raises:
        Problem: the user may not follow the task.
    """
    tokens, token = request.state.task_tokens, bearer_token(request.http)
    if tokens is not None and token is not None and tokens.may_follow(token, queue, task_id):
        return
    if not request.state.authorization.has_hook:
        raise Problem(
            "forbidden",
            "the token does not name this task: get one from the application that does",
        )
    await request.permit(FOLLOW, f"{quote(queue, safe='')}/{quote(task_id, safe='')}")


def _after(request: UserRequest) -> int:
    """Return the number of the last event that the client has."""
    given = request.http.headers.get(LAST_ID_HEADER)
    if given:
        return parse_number(given, "Last-Event-ID", 0, MOST)
    return parse_number(request.http.query_params.get("after", "0"), "after", 0, MOST)


async def _client(request: Request) -> Response:
    """Return the JavaScript module with which a page reads the events of a task."""
    del request
    text = resources.files(__package__).joinpath(CLIENT).read_text(encoding="utf-8")
    return Response(text, media_type="text/javascript")


ROUTES: Final = [
    route("/v1/tasks/{queue}/{id}/events", GET=events),
    Route("/v1/task-events.js", _client),
]
