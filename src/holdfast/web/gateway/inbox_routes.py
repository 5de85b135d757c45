"""Serve `/v1/inbox`: the new messages of all chats of the user."""

from __future__ import annotations

import time
from functools import partial
from typing import Final

import msgspec
from starlette.responses import Response

from ... import AsyncHoldfast, AsyncInbox, Batch, InboxBatches, InboxUnread, Position
from ..problems import Problem
from ..request_parsing import json_response
from . import costs
from .authorization import ACK, READ, Authorization
from .message_schema import acknowledging, batch_json
from .user_request import UserRequest, route

MAX_READS: Final = 20
"""Reads of the inbox in one request at most. A request reads again if a result contains only chats
that the user may not read."""


class InboxAck(msgspec.Struct, forbid_unknown_fields=True):
    """The JSON body that acknowledges the messages of one chat up to the position of a batch."""

    chat: str
    position: str


class InboxAckAll(msgspec.Struct, forbid_unknown_fields=True):
    """The JSON body that acknowledges the messages of several chats: chat → position."""

    positions: dict[str, str]


async def fetch(request: UserRequest) -> Response:
    """Return the unacknowledged messages of each chat. Wait for the first one up to `timeout`."""
    inbox, limit = request.hf.inbox(request.user), request.count("limit", 100)
    nothing = InboxBatches((), 0)
    await request.require_inbox()
    fetch_allowed = partial(allowed_batches, request.state.authorization, inbox, limit)
    batches = await request.wait_for(fetch_allowed, nothing)
    return json_response(
        {
            "batches": [{"chat": each.source, **batch_json(each)} for each in batches],
            "skipped_chats": batches.skipped_chats,
        }
    )


async def ack(request: UserRequest) -> Response:
    """Acknowledge everything in one chat up to a position."""
    given = await request.json(InboxAck)
    await request.permit(ACK, given.chat)
    await acknowledge(request.hf, request.user, given.chat, given.position)
    return Response(status_code=204)


async def ack_all(request: UserRequest) -> Response:
    """Acknowledge everything in several chats up to a position in each.

    If the application or the server refuses this for one chat, acknowledge the other chats, and
    then answer with the problem.
    """
    given = await request.json(InboxAckAll)
    await request.require(costs.of_inbox(len(given.positions)))
    batches = [acknowledging(chat, position) for chat, position in given.positions.items()]
    allowed, problem = list[Batch](), None
    for batch in batches:
        try:
            await request.permit(ACK, batch.source)
            allowed.append(batch)
        except Problem as refusal:
            problem = problem or refusal
    await request.hf.inbox(request.user).ack_all(allowed)
    if problem is not None:
        raise problem
    return Response(status_code=204)


async def unread(request: UserRequest) -> Response:
    """Return the number of unread messages of each chat."""
    allowed = await allowed_unread(request)
    return json_response({"unread": allowed, "skipped_chats": allowed.skipped_chats})


async def allowed_unread(request: UserRequest) -> InboxUnread:
    """Return the number of unread messages of each chat that the user may read."""
    await request.require_inbox()
    unread = await request.hf.inbox(request.user).unread()
    allows = request.state.authorization.allows
    allowed = {chat: n for chat, n in unread.items() if await allows(request.user, READ, chat)}
    return InboxUnread(allowed, unread.skipped_chats)


async def allowed_batches(
    authorization: Authorization, inbox: AsyncInbox, limit: int, timeout: float
) -> InboxBatches:
    """Return the unacknowledged messages of the chats that the user may read.

    If a read returns only messages of other chats, read again after those messages.
    """
    ends_at, after = time.monotonic() + timeout, dict[str, Position]()
    for _ in range(MAX_READS):
        left_s = max(0.0, ends_at - time.monotonic()) if timeout else 0.0
        batches = await inbox.fetch(limit=limit, timeout=left_s, after=after)
        found = [
            each for each in batches if await authorization.allows(inbox.user, READ, each.source)
        ]
        if found or not batches:
            return InboxBatches(found, batches.skipped_chats)
        after |= {batch.source: batch.position for batch in batches}
    return InboxBatches((), 0)


async def acknowledge(hf: AsyncHoldfast, user: str, chat: str, position: str) -> None:
    """Acknowledge everything in *chat* up to a position."""
    await hf.inbox(user).ack(acknowledging(chat, position))


ROUTES: Final = [
    route("/v1/inbox", GET=fetch),
    route("/v1/inbox/ack", POST=ack),
    route("/v1/inbox/ack-all", POST=ack_all),
    route("/v1/inbox/unread", GET=unread),
]
