"""`/v1/mailbox`: what others sent to the user; `/v1/mailboxes/{name}`: sending to somebody."""

from __future__ import annotations

from typing import Final

import msgspec
from starlette.responses import Response

from .. import Batch
from .permission import SEND_MAIL
from .visit import Visit, answer, resource
from .wire import acknowledging, batch_json, instant, messages_json

PER_SENDER: Final = 100
"""Messages of one user that may be unread in the mailbox of another one."""


class Ack(msgspec.Struct, forbid_unknown_fields=True):
    """What acknowledges: the position of a batch."""

    position: str


async def fetch(visit: Visit) -> Response:
    """All that is not acknowledged, or the first of it; waits for something if asked to."""
    box, limit = visit.hf.mailbox(visit.user), visit.whole("limit", 100)
    nothing = Batch(visit.user, (), None, 0, 0)
    batch = await visit.waited(lambda timeout: box.fetch(limit=limit, timeout=timeout), nothing)
    return answer(batch_json(batch))


async def ack(visit: Visit) -> Response:
    """Be done with everything up to a position."""
    done = await visit.json(Ack)
    await visit.hf.mailbox(visit.user).ack(acknowledging(visit.user, done.position))
    return Response(status_code=204)


async def latest(visit: Visit) -> Response:
    """The newest n messages, acknowledged or not; or those around a number."""
    box, n = visit.hf.mailbox(visit.user), visit.whole("n", 10)
    messages = await box.latest(n, before=visit.edge("before"), after=visit.edge("after"))
    return answer({"messages": messages_json(messages)})


async def status(visit: Visit) -> Response:
    """How much is unread, since when, and when the user was last here."""
    state = await visit.hf.mailbox(visit.user).status()
    return answer(
        {
            "unread": state.unread,
            "oldest_at": instant(state.oldest_at),
            "last_seen_at": instant(state.last_seen_at),
            "read_seq": state.read_seq,
        }
    )


async def send(visit: Visit) -> Response:
    """Put a message into somebody's mailbox."""
    owner = await visit.permit(SEND_MAIL, visit.name("user"))
    body = await visit.message()
    visit.gate.contacts.write(visit.user, owner)
    box = visit.hf.mailbox(owner)
    seq = await box.send(body, sender=visit.user, per_sender=PER_SENDER, op_id=visit.op_id)
    return answer({"seq": seq}, 201)


ROUTES: Final = [
    resource("/v1/mailbox", GET=fetch),
    resource("/v1/mailbox/ack", POST=ack),
    resource("/v1/mailbox/latest", GET=latest),
    resource("/v1/mailbox/status", GET=status),
    resource("/v1/mailboxes/{user}", POST=send),
]
