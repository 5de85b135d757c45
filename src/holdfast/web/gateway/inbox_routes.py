"""`/v1/inbox`: what is new in all chats of the user."""

from __future__ import annotations

import time
from functools import partial
from typing import Final

import msgspec
from starlette.responses import Response

from ... import AsyncHoldfast, AsyncInbox, Batch, Position
from ..request_parsing import json_response
from .authorization import ACK, READ, Authorization
from .message_schema import acknowledging, batch_json
from .user_request import UserRequest, route

MAX_READS: Final = 20
"""Reads of the inbox by one request, which passes over chats that the user may not read."""


class InboxAck(msgspec.Struct, forbid_unknown_fields=True):
    """The body of an acknowledgement in one chat: the position of a batch."""

    chat: str
    position: str


async def fetch(request: UserRequest) -> Response:
    """Return what is not acknowledged, by chat; wait for it if asked to."""
    inbox, limit = request.hf.inbox(request.user), request.count("limit", 100)
    nothing: list[Batch] = []
    await request.require_inbox()
    fetch_allowed = partial(allowed_batches, request.state.authorization, inbox, limit)
    batches = await request.wait_for(fetch_allowed, nothing)
    return json_response(
        {"batches": [{"chat": each.source, **batch_json(each)} for each in batches]}
    )


async def ack(request: UserRequest) -> Response:
    """Acknowledge everything in one chat up to a position."""
    given = await request.json(InboxAck)
    await request.permit(ACK, given.chat)
    await acknowledge(request.hf, request.user, given.chat, given.position)
    return Response(status_code=204)


async def unread(request: UserRequest) -> Response:
    """Return the number of unread messages, by chat."""
    return json_response({"unread": await allowed_unread(request)})


async def allowed_unread(request: UserRequest) -> dict[str, int]:
    """Return the number of unread messages of each chat that the user may read."""
    await request.require_inbox()
    unread = await request.hf.inbox(request.user).unread()
    allows = request.state.authorization.allows
    return {chat: n for chat, n in unread.items() if await allows(request.user, READ, chat)}


async def allowed_batches(
    authorization: Authorization, inbox: AsyncInbox, limit: int, timeout: float
) -> list[Batch]:
    """Return what is new in the chats that the user may read, passing over the other chats."""
    ends_at, after = time.monotonic() + timeout, dict[str, Position]()
    for _ in range(MAX_READS):
        left_s = max(0.0, ends_at - time.monotonic()) if timeout else 0.0
        batches = await inbox.fetch(limit=limit, timeout=left_s, after=after)
        found = [
            each for each in batches if await authorization.allows(inbox.user, READ, each.source)
        ]
        if found or not batches:
            return found
        after |= {batch.source: batch.position for batch in batches}
    return []


async def acknowledge(hf: AsyncHoldfast, user: str, chat: str, position: str) -> None:
    """Acknowledge everything in *chat* up to a position."""
    await hf.inbox(user).ack(acknowledging(chat, position))


ROUTES: Final = [
    route("/v1/inbox", GET=fetch),
    route("/v1/inbox/ack", POST=ack),
    route("/v1/inbox/unread", GET=unread),
]
