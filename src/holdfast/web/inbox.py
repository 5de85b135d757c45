"""`/v1/inbox`: what is new in all chats of the user."""

from __future__ import annotations

from typing import Final

import msgspec
from starlette.responses import Response

from .. import AsyncHoldfast, Batch
from .visit import Visit, answer, resource
from .wire import acknowledging, batch_json


class Ack(msgspec.Struct, forbid_unknown_fields=True):
    """What acknowledges in one chat: the position of a batch."""

    chat: str
    position: str


async def fetch(visit: Visit) -> Response:
    """What is not acknowledged, by chat; waits for something if asked to."""
    inbox, limit = visit.hf.inbox(visit.user), visit.whole("limit", 100)
    nothing: list[Batch] = []
    batches = await visit.waited(lambda timeout: inbox.fetch(limit=limit, timeout=timeout), nothing)
    return answer({"batches": [{"chat": each.source, **batch_json(each)} for each in batches]})


async def ack(visit: Visit) -> Response:
    """Be done with everything in one chat up to a position."""
    done = await visit.json(Ack)
    await acknowledge(visit.hf, visit.user, done.chat, done.position)
    return Response(status_code=204)


async def unread(visit: Visit) -> Response:
    """How much is not acknowledged, by chat."""
    return answer({"unread": await visit.hf.inbox(visit.user).unread()})


async def acknowledge(hf: AsyncHoldfast, user: str, chat: str, position: str) -> None:
    """Be done with everything in *chat* up to a position."""
    await hf.inbox(user).ack(acknowledging(chat, position))


ROUTES: Final = [
    resource("/v1/inbox", GET=fetch),
    resource("/v1/inbox/ack", POST=ack),
    resource("/v1/inbox/unread", GET=unread),
]
