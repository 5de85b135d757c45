"""Serve `/v1/chats`: create, read and write group chats. Only members have access to a chat."""

from __future__ import annotations

from contextlib import suppress
from typing import Final
from urllib.parse import quote

import msgspec
from starlette.responses import Response

from ... import AsyncChat, Message, NoSuchChat, NotAMember, Undecodable
from ..problems import Problem
from ..request_parsing import json_response
from . import costs
from .authorization import ADD, CREATE, INVITE, LEAVE, MEMBERS, READ, SEND
from .inbox_routes import allowed_unread
from .message_schema import OCTETS, MessageContent, media_type, messages_json
from .user_request import UserRequest, route

BEYOND: Final = 2**53 - 2
"""A sequence number above those of all messages: reading after it returns no messages."""


class NewChat(MessageContent):
    """The JSON body that creates a chat: the other members, and the first message."""

    members: list[str]


class NewMember(msgspec.Struct, forbid_unknown_fields=True):
    """The JSON body that adds a member to a chat."""

    user: str


async def listing(request: UserRequest) -> Response:
    """Return the chats of the user with the number of unread messages in each."""
    unread = await allowed_unread(request)
    return json_response({"chats": [{"id": chat, "unread": n} for chat, n in unread.items()]})


async def create(request: UserRequest) -> Response:
    """Create a chat with an id that the gateway chooses.

    If clients could choose ids, a conflict would reveal which chats exist.
    """
    given = await request.json(NewChat)
    await request.permit(CREATE, request.user)
    if await _was_created(request):
        return _created(request, request.op_id)
    others = sorted({*given.members} - {request.user})
    check_members(request, len(others) + 1)
    await request.require(len(others))
    for other in others:
        await request.permit(INVITE, other)
    await request.state.contact_limits.create(request.user, others)
    chat = await request.hf.create_chat(
        given.members, sender=request.user, body=given.content(), op_id=request.op_id
    )
    return _created(request, chat.chat_id)


async def _was_created(request: UserRequest) -> bool:
    """Return whether an earlier request with this idempotency key has created the chat.

    The operation id becomes the id of the chat, so the gateway can look the chat up. If it
    exists, the gateway does not count the invitations a second time.
    """
    if not request.has_own_key:
        return False
    with suppress(NoSuchChat, NotAMember):
        chat = request.hf.chat(request.op_id)
        await chat.history(after=BEYOND, limit=1, reader=request.user)
        return True
    return False


def _created(request: UserRequest, chat_id: str) -> Response:
    location = f"{request.http.url.path}/{quote(chat_id, safe='')}"
    return json_response({"id": chat_id}, 201, Location=location)


async def send(request: UserRequest) -> Response:
    """Send the body of the request as a message to all members."""
    chat = await _permitted_chat(request, SEND)
    seq = await chat.send(await request.message(), sender=request.user, op_id=request.op_id)
    return json_response({"seq": seq}, 201)


async def history(request: UserRequest) -> Response:
    """Return a page of stored messages: the newest ones, those before a message, or those after."""
    before, after = request.edge("before"), request.edge("after")
    limit = request.count("limit", 50)
    chat = await _permitted_chat(request, READ)
    messages = await chat.history(before=before, after=after, limit=limit, reader=request.user)
    return json_response({"messages": messages_json(messages)})


async def message(request: UserRequest) -> Response:
    """Return the content of one message: its bytes, or its body as JSON."""
    seq = request.seq("seq")
    chat = await _permitted_chat(request, READ)
    found = await chat.history(before=seq + 1, limit=1, reader=request.user)
    match found:
        case [Message(seq=number, body=bytes(data))] if number == seq:
            media = media_type(data)
            extra = {"Content-Disposition": "attachment"} if media == OCTETS else {}
            return Response(data, 200, extra, media)
        case [Message(seq=number, body=body)] if number == seq:
            return json_response(body)
        case [Undecodable(seq=number, reason=reason)] if number == seq:
            raise Problem("not-found", f"message {seq} cannot be decoded: {reason}")
    raise Problem("not-found", f"this chat has no message {seq}, or does not keep it any more")


async def members(request: UserRequest) -> Response:
    """Return each member with the number of the last message that the member acknowledged."""
    found = await (await _permitted_chat(request, MEMBERS)).members(reader=request.user)
    await request.charge(costs.of_members(len(found)))
    return json_response({"members": dict(found)})


async def add(request: UserRequest) -> Response:
    """Add a member, who can read the messages that are sent from now on."""
    given, chat = await request.json(NewMember), await _permitted_chat(request, ADD)
    await request.permit(INVITE, given.user)
    members = await chat.members(reader=request.user)
    await request.charge(costs.of_members(len(members)))
    if given.user not in members:
        check_members(request, len(members) + 1)
        await request.state.contact_limits.invite(request.user, given.user)
    await chat.join(given.user, by=request.user, op_id=request.op_id)
    return Response(status_code=204)


async def leave(request: UserRequest) -> Response:
    """Leave the chat; do nothing if the user is not a member."""
    chat = await _permitted_chat(request, LEAVE)
    await chat.leave(request.user, op_id=request.op_id)
    return Response(status_code=204)


async def _permitted_chat(request: UserRequest, action: str) -> AsyncChat:
    """Return the chat that the path names, after checking that the user may do *action* to it."""
    return request.hf.chat(await request.permit(action, request.name("chat")))


def check_members(request: UserRequest, count: int) -> None:
    """Refuse a chat with too many members.

    Raises:
        Problem: *count* is above the limit.
    """
    most = request.state.limits.members
    if count > most:
        raise Problem("too-large", f"a chat takes at most {most:,} members here, not {count:,}")


ROUTES: Final = [
    route("/v1/chats", GET=listing, POST=create),
    route("/v1/chats/{chat}/messages", POST=send),
    route("/v1/chats/{chat}/messages/{seq}", GET=message),
    route("/v1/chats/{chat}/history", GET=history),
    route("/v1/chats/{chat}/members", GET=members, POST=add),
    route("/v1/chats/{chat}/members/me", DELETE=leave),
]
