"""`/v1/inbox`: what is new in all chats of the user."""

from __future__ import annotations

import time
from functools import partial
from typing import Final

import msgspec
from starlette.responses import Response

from .. import AsyncHoldfast, AsyncInbox, Batch, Position
from .permission import ACK, READ, Permission
from .visit import Visit, answer, resource
from .wire import acknowledging, batch_json

ROUNDS: Final = 20
"""How often one request looks on behind chats that the user may not read."""


class Ack(msgspec.Struct, forbid_unknown_fields=True):
    """What acknowledges in one chat: the position of a batch."""

    chat: str
    position: str


async def fetch(visit: Visit) -> Response:
    """What is not acknowledged, by chat; waits for something if asked to."""
    inbox, limit = visit.hf.inbox(visit.user), visit.whole("limit", 100)
    nothing: list[Batch] = []
    await visit.demand_inbox()
    news = partial(allowed_news, visit.gate.permission, inbox, limit)
    batches = await visit.waited(news, nothing)
    return answer({"batches": [{"chat": each.source, **batch_json(each)} for each in batches]})


async def ack(visit: Visit) -> Response:
    """Be done with everything in one chat up to a position."""
    done = await visit.json(Ack)
    await visit.permit(ACK, done.chat)
    await acknowledge(visit.hf, visit.user, done.chat, done.position)
    return Response(status_code=204)


async def unread(visit: Visit) -> Response:
    """How much is not acknowledged, by chat."""
    return answer({"unread": await allowed_unread(visit)})


async def allowed_unread(visit: Visit) -> dict[str, int]:
    """Return the number of unread messages of each chat that the user may read."""
    await visit.demand_inbox()
    unread = await visit.hf.inbox(visit.user).unread()
    allows = visit.gate.permission.allows
    return {chat: n for chat, n in unread.items() if await allows(visit.user, READ, chat)}


async def allowed_news(
    permission: Permission, inbox: AsyncInbox, limit: int, timeout: float
) -> list[Batch]:
    """Return what is new in the chats that the user may read; look on behind the other chats."""
    ends_at, after = time.monotonic() + timeout, dict[str, Position]()
    for _ in range(ROUNDS):
        left_s = max(0.0, ends_at - time.monotonic()) if timeout else 0.0
        batches = await inbox.fetch(limit=limit, timeout=left_s, after=after)
        found = [each for each in batches if await permission.allows(inbox.user, READ, each.source)]
        if found or not batches:
            return found
        after |= {batch.source: batch.position for batch in batches}
    return []


async def acknowledge(hf: AsyncHoldfast, user: str, chat: str, position: str) -> None:
    """Be done with everything in *chat* up to a position."""
    await hf.inbox(user).ack(acknowledging(chat, position))


ROUTES: Final = [
    resource("/v1/inbox", GET=fetch),
    resource("/v1/inbox/ack", POST=ack),
    resource("/v1/inbox/unread", GET=unread),
]
