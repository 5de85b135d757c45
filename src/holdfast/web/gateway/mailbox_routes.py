"""Serve `/v1/mailbox`, the mailbox of the user, and `/v1/mailboxes/{user}`, to write to others."""

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
"""How many unread messages of one sender a mailbox takes through the gateway."""


class MailboxAck(msgspec.Struct, forbid_unknown_fields=True):
    """The JSON body that acknowledges the mailbox up to the position of a batch."""

    position: str


async def fetch(request: UserRequest) -> Response:
    """Return the first unacknowledged messages. Wait for the first one up to `timeout`."""
    box, limit = request.hf.mailbox(request.user), request.count("limit", 100)
    nothing = Batch(request.user, (), None, 0, 0)
    batch = await request.wait_for(lambda timeout: box.fetch(limit=limit, timeout=timeout), nothing)
    return json_response(batch_json(batch))


async def ack(request: UserRequest) -> Response:
    """Acknowledge all messages of the mailbox up to a position."""
    given = await request.json(MailboxAck)
    await request.hf.mailbox(request.user).ack(acknowledging(request.user, given.position))
    return Response(status_code=204)


async def latest(request: UserRequest) -> Response:
    """Return the newest messages, or those before or after a message, acknowledged or not."""
    box, n = request.hf.mailbox(request.user), request.count("n", 10)
    messages = await box.latest(n, before=request.edge("before"), after=request.edge("after"))
    return json_response({"messages": messages_json(messages)})


async def status(request: UserRequest) -> Response:
    """Return the number of unread messages, the time of the oldest, and of the user's last read."""
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
    await request.state.contact_limits.write(request.user, owner)
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
