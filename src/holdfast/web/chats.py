"""`/v1/chats`: group chats, for their members only."""

from __future__ import annotations

from contextlib import suppress
from typing import Final
from urllib.parse import quote

import msgspec
from starlette.responses import Response

from .. import AsyncChat, Message, NoSuchChat, NotAMember, Undecodable
from . import costs
from .inbox import allowed_unread
from .permission import ADD, CREATE, INVITE, LEAVE, MEMBERS, READ, SEND
from .problems import Problem
from .visit import Visit, answer, resource
from .wire import OCTETS, Content, media_type, messages_json

BEYOND: Final = 2**53 - 2
"""The number of a message that no chat has: reading after it returns nothing."""


class NewChat(Content):
    """A chat to be: its other members, and its first message."""

    members: list[str]


class NewMember(msgspec.Struct, forbid_unknown_fields=True):
    """Whom to add."""

    user: str


async def listing(visit: Visit) -> Response:
    """The chats of the user, and how much of each is unread."""
    unread = await allowed_unread(visit)
    return answer({"chats": [{"id": chat, "unread": count} for chat, count in unread.items()]})


async def create(visit: Visit) -> Response:
    """Create a chat. Its id is made here: chosen ids would show which chats exist."""
    wanted = await visit.json(NewChat)
    await visit.permit(CREATE, visit.user)
    if await _was_created(visit):
        return _created(visit, visit.op_id)
    others = sorted({*wanted.members} - {visit.user})
    check_members(visit, len(others) + 1)
    visit.demand(len(others))
    for other in others:
        await visit.permit(INVITE, other)
    visit.gate.contacts.create(visit.user, others)
    chat = await visit.hf.create_chat(
        wanted.members, sender=visit.user, body=wanted.content(), op_id=visit.op_id
    )
    return _created(visit, chat.chat_id)


async def _was_created(visit: Visit) -> bool:
    """Return whether this request repeats one that created a chat.

    The operation names the chat, so one read shows it. Such a repetition changes nothing and is
    not charged for its members again.
    """
    if not visit.has_own_key:
        return False
    with suppress(NoSuchChat, NotAMember):
        await visit.hf.chat(visit.op_id).history(after=BEYOND, limit=1, reader=visit.user)
        return True
    return False


def _created(visit: Visit, chat_id: str) -> Response:
    where = f"{visit.request.url.path}/{quote(chat_id, safe='')}"
    return answer({"id": chat_id}, 201, Location=where)


async def send(visit: Visit) -> Response:
    """Send to all members; the body of the request is the body of the message."""
    chat = await _chat(visit, SEND)
    seq = await chat.send(await visit.message(), sender=visit.user, op_id=visit.op_id)
    return answer({"seq": seq}, 201)


async def history(visit: Visit) -> Response:
    """Messages that are kept, page by page backwards; or forwards, with `after`."""
    before, after, limit = visit.edge("before"), visit.edge("after"), visit.whole("limit", 50)
    chat = await _chat(visit, READ)
    messages = await chat.history(before=before, after=after, limit=limit, reader=visit.user)
    return answer({"messages": messages_json(messages)})


async def message(visit: Visit) -> Response:
    """One message as it is: the bytes of a picture, or JSON."""
    seq = visit.seq("seq")
    chat = await _chat(visit, READ)
    found = await chat.history(before=seq + 1, limit=1, reader=visit.user)
    match found:
        case [Message(seq=number, body=bytes(data))] if number == seq:
            media = media_type(data)
            extra = {"Content-Disposition": "attachment"} if media == OCTETS else {}
            return Response(data, 200, extra, media)
        case [Message(seq=number, body=body)] if number == seq:
            return answer(body)
        case [Undecodable(seq=number, reason=reason)] if number == seq:
            raise Problem("not-found", f"message {seq} cannot be decoded: {reason}")
    raise Problem("not-found", f"this chat has no message {seq}, or does not keep it any more")


async def members(visit: Visit) -> Response:
    """The members, and the number up to which each has acknowledged."""
    found = await (await _chat(visit, MEMBERS)).members(reader=visit.user)
    visit.charge(costs.of_members(len(found)))
    return answer({"members": dict(found)})


async def add(visit: Visit) -> Response:
    """A member adds somebody, who reads what is sent from now on."""
    wanted, chat = await visit.json(NewMember), await _chat(visit, ADD)
    await visit.permit(INVITE, wanted.user)
    members = await chat.members(reader=visit.user)
    visit.charge(costs.of_members(len(members)))
    if wanted.user not in members:
        check_members(visit, len(members) + 1)
        visit.gate.contacts.invite(visit.user, wanted.user)
    await chat.join(wanted.user, by=visit.user, op_id=visit.op_id)
    return Response(status_code=204)


async def leave(visit: Visit) -> Response:
    """Be a member no longer. Who is none is done already."""
    chat = await _chat(visit, LEAVE)
    await chat.leave(visit.user, op_id=visit.op_id)
    return Response(status_code=204)


async def _chat(visit: Visit, action: str) -> AsyncChat:
    """Return the chat in the path, if the application allows *action* to the user."""
    return visit.hf.chat(await visit.permit(action, visit.name("chat")))


def check_members(visit: Visit, count: int) -> None:
    """Refuse a chat of *count* members, if they are too many."""
    most = visit.gate.limits.members
    if count > most:
        raise Problem("too-large", f"a chat takes at most {most:,} members here, not {count:,}")


ROUTES: Final = [
    resource("/v1/chats", GET=listing, POST=create),
    resource("/v1/chats/{chat}/messages", POST=send),
    resource("/v1/chats/{chat}/messages/{seq}", GET=message),
    resource("/v1/chats/{chat}/history", GET=history),
    resource("/v1/chats/{chat}/members", GET=members, POST=add),
    resource("/v1/chats/{chat}/members/me", DELETE=leave),
]
