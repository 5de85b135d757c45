"""Send the events of a task to a browser, as Server-Sent Events."""

from __future__ import annotations

from collections.abc import AsyncIterator
from time import monotonic
from typing import Any, Final

import msgspec
from anyio import sleep
from starlette.requests import Request
from starlette.responses import StreamingResponse

from .. import AsyncTaskHandle, Gap, TaskEvent
from ..errors import HoldfastError
from ..errors.one_line_logger import logger_of

logger: Final = logger_of("holdfast")

PING_S: Final = 15.0
"""Seconds without an event after which a comment is sent, so that proxies keep the connection."""

_LOOK_S: Final = 0.1
"""Seconds between two checks for a task that is not in its queue yet."""

_RUNS: Final = frozenset(("queued", "delayed", "running"))


def task_events(
    request: Request,
    handle: AsyncTaskHandle[Any],
    *,
    ping: float = PING_S,
    wait: float = 0.0,
) -> StreamingResponse:
    """Return a response that follows a task, for `new EventSource(…)` in a browser.

    - `progress` and `event`: what the task reported, with its number as id.
    - `gap`: events that are not kept any more, `{"first": …, "last": …, "reason": …}`.
    - `end`: the task has ended, `{"state": …}`. The browser must then close the `EventSource`.

    A browser that connects again sends the id of its last event as `Last-Event-ID`, and continues
    after it.

    Args:
        request: the request. Check before that its user may see the task.
        handle: the task.
        ping: seconds without an event after which a comment is sent.
        wait: seconds to wait for a task that its queue does not have yet, because it is in an
            outbox. Otherwise, the stream of such a task ends with the state `unknown`.
    """
    given = request.headers.get("last-event-id", "")
    after = int(given) if given.isascii() and given.isdigit() and len(given) <= 15 else 0
    return StreamingResponse(
        _frames(handle, after, ping, monotonic() + wait),
        media_type="text/event-stream",
        headers={"cache-control": "no-store", "x-accel-buffering": "no"},
    )


async def _frames(
    handle: AsyncTaskHandle[Any], after: int, ping: float, until: float
) -> AsyncIterator[bytes]:
    """Yield the frames of a stream that begins after the event with the number *after*.

    Wait for a task that is not in its queue yet, *until* an instant of the monotonic clock.
    """
    yield b"retry: 1000\n\n"
    try:
        async for comment in _until_there(handle, ping, until):
            yield comment
        while True:
            async for event in handle.events(after=after, timeout=ping):
                after = _number(event)
                yield _gap(event) if isinstance(event, Gap) else _event(event)
            status = await handle.status()
            if status.state not in _RUNS:
                # Events that came between the timeout and the end.
                async for event in handle.events(after=after, timeout=0):
                    yield _gap(event) if isinstance(event, Gap) else _event(event)
                yield _frame("end", {"state": status.state})
                return
            yield b": ping\n\n"
    except HoldfastError as error:  # The browser connects again, and continues.
        logger.warning("a stream of events ends: %s", error)


async def _until_there(
    handle: AsyncTaskHandle[Any], ping: float, until: float
) -> AsyncIterator[bytes]:
    """Yield comments until the queue has the task, or *until* an instant."""
    since = monotonic()
    while monotonic() < until and (await handle.status()).state == "unknown":
        if monotonic() - since >= ping:
            since = monotonic()
            yield b": ping\n\n"
        await sleep(_LOOK_S)


def _number(event: TaskEvent | Gap) -> int:
    """Return the number after which the stream goes on."""
    return event.resume_after if isinstance(event, Gap) else event.number


def _event(event: TaskEvent) -> bytes:
    return _frame(event.kind, event.data, str(event.number))


def _gap(gap: Gap) -> bytes:
    fields = {"first": gap.first, "last": gap.last, "reason": gap.reason}
    return _frame("gap", fields, str(_number(gap)))


def _frame(kind: str, data: Any, number: str = "") -> bytes:
    """Return one frame. JSON has no line breaks, so it is one line."""
    lead = f"id: {number}\n" if number else ""
    return b"%bevent: %b\ndata: %b\n\n" % (lead.encode(), kind.encode(), msgspec.json.encode(data))
