"""`/v1/mailbox`: the user's own mailbox; `/v1/mailboxes/{user}`: send to another user."""

from __future__ import annotations

from typing import Final

import msgspec
from starlette.responses import Response

from ... import Batch
from ..request_parsing import json_response
from .authorization import SEND_MAIL
from .message_schema import acknowledging, batch_json, iso_time, messages_json
from .user_request import UserRequest, route

PER_SENDER: Final = 100
"""Unread messages of one user in the mailbox of another one."""


class MailboxAck(msgspec.Struct, forbid_unknown_fields=True):
    """The body of an acknowledgement: the position of a batch."""

    position: str


async def fetch(request: UserRequest) -> Response:
    """Return what is not acknowledged, or the first part of it; wait for it if asked to."""
    box, limit = request.hf.mailbox(request.user), request.count("limit", 100)
    nothing = Batch(request.user, (), None, 0, 0)
    batch = await request.wait_for(lambda timeout: box.fetch(limit=limit, timeout=timeout), nothing)
    return json_response(batch_json(batch))


async def ack(request: UserRequest) -> Response:
    """Acknowledge everything up to a position."""
    given = await request.json(MailboxAck)
    await request.hf.mailbox(request.user).ack(acknowledging(request.user, given.position))
    return Response(status_code=204)


async def latest(request: UserRequest) -> Response:
    """Return the newest messages, acknowledged or not, or those next to a number."""
    box, n = request.hf.mailbox(request.user), request.count("n", 10)
    messages = await box.latest(n, before=request.edge("before"), after=request.edge("after"))
    return json_response({"messages": messages_json(messages)})


async def status(request: UserRequest) -> Response:
    """Return how much is unread, since when, and when the user last read."""
    state = await request.hf.mailbox(request.user).status()
    return json_response(
        {
            "unread": state.unread,
            "oldest_at": iso_time(state.oldest_at),
            "last_seen_at": iso_time(state.last_seen_at),
            "read_seq": state.read_seq,
        }
    )


async def send(request: UserRequest) -> Response:
    """Send a message to the mailbox of another user."""
    owner = await request.permit(SEND_MAIL, request.name("user"))
    body = await request.message()
    request.state.contact_limits.write(request.user, owner)
    box = request.hf.mailbox(owner)
    seq = await box.send(body, sender=request.user, per_sender=PER_SENDER, op_id=request.op_id)
    return json_response({"seq": seq}, 201)


ROUTES: Final = [
    route("/v1/mailbox", GET=fetch),
    route("/v1/mailbox/ack", POST=ack),
    route("/v1/mailbox/latest", GET=latest),
    route("/v1/mailbox/status", GET=status),
    route("/v1/mailboxes/{user}", POST=send),
]
