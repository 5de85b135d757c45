"""One stream: a user's device, for as long as its line holds.

Batches flow as fast as the device takes them: the next one is fetched when the last one has been
written, so a slow reader costs one batch. Nothing is acknowledged unless the device says so.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from contextlib import ExitStack, suppress
from functools import partial
from typing import Any, Final, TypeVar

import msgspec
from starlette.websockets import WebSocket, WebSocketDisconnect

from ... import ClientClosed, HoldfastError, Position, ServerUnavailable, use_trace
from .. import costs
from ..connection import HELLO_S, connection_of
from ..gate import TOO_MANY, Gate, bearer, client_address, new_key
from ..inbox import acknowledge
from ..mailbox import PER_SENDER
from ..permission import ACK, READ, SEND, SEND_MAIL
from ..problems import Problem, problem_of
from ..visit import LONGEST_KEY, decoded, op_id
from ..waiting import first
from ..wire import acknowledging, position
from . import frames

T = TypeVar("T")

PING_S: Final = 20.0
"""Between two pings; the token is checked as often, and at each frame and delivery."""

LOOK_S: Final = 3600.0
"""How long one wait for news lasts."""

PAUSE_S: Final = 1.0
"""Between two tries while the server cannot be asked."""

BATCH: Final = 100

RESTARTING: Final = 1012
"""The code of a close, as registered for WebSockets: come again, perhaps to another process."""

REFUSED: Final = 4000
"""Plus the status of the problem: the code of a close."""


async def stream(socket: WebSocket) -> None:
    """Serve one WebSocket."""
    gate: Gate[str] = socket.app.state.gate
    with ExitStack() as held:
        try:
            held.enter_context(gate.arriving.one(client_address(socket)))
        except Problem as refusal:
            await socket.send_denial_response(refusal.response())
            return
        await socket.accept()
        try:
            hello, token, user = await _introduced(gate, socket)
            with gate.places.one(user):
                held.close()  # it is no arrival any more
                connection_of(socket).introduced()
                session = Session(gate, socket, user, token)
                await first(session.run(hello), gate.closing.wait())
            code, reason = RESTARTING, "the gateway is restarted"
        except WebSocketDisconnect:
            return
        except ClientClosed:
            code, reason = RESTARTING, "the client of the gateway is closed"
        except Exception as error:  # noqa: BLE001 (the last one to catch it: `problem_of` logs it)
            problem = problem_of(error)
            code, reason = REFUSED + problem.status, problem.kind
            with suppress(WebSocketDisconnect):
                await _say(socket, frames.error(problem))
        with suppress(WebSocketDisconnect, RuntimeError):  # it has hung up meanwhile
            await socket.close(code, reason)
        connection_of(socket).end()


async def _introduced(gate: Gate[str], socket: WebSocket) -> tuple[frames.Hello, str | None, str]:
    """Return the first frame, its token, and whose it is."""
    try:
        async with asyncio.timeout(HELLO_S):
            hello: frames.Hello = decoded(await _heard(socket), frames.Hello)
            token = hello.token if hello.token is not None else bearer(socket)
            user = await gate.user_of(socket, token)
    except TimeoutError:
        raise Problem("bad-request", f"no hello came within {HELLO_S:g} s") from None
    gate.users.demand(user, TOO_MANY, await _cost(gate, user, hello))
    return hello, token, user


async def _cost(gate: Gate[str], user: str, hello: frames.Hello) -> int:
    """Return what a stream costs at its beginning: it looks at all chats of the user."""
    return 1 + (costs.of_inbox(await gate.inboxes.get(user)) if "chats" in hello.sources else 0)


class Session:
    """A stream whose user is known.

    Args:
        gate: what it came in by.
        socket: its line.
        user: whose it is.
        token: as it was given, to be looked at again.
    """

    def __init__(self, gate: Gate[str], socket: WebSocket, user: str, token: str | None) -> None:
        self._gate = gate
        self._socket = socket
        self._user = user
        self._token = token
        self._address = client_address(socket)

    async def run(self, hello: frames.Hello) -> None:
        """Serve until the device goes, or its token ends.

        Raises:
            WebSocketDisconnect: it has gone.
            Problem: it may stay no longer.
            ClientClosed: the client of the gateway is closed.
        """
        mail, chats = _resumed(hello)
        await self._say(frames.welcome(self._user))
        works = [self._listen(), self._heartbeat(), self._until_end()]
        if "mailbox" in hello.sources:
            works.append(self._mail(mail))
        if "chats" in hello.sources:
            works.append(self._chats(chats))
        await first(*works)

    # Whether it may stay

    async def _check(self) -> None:
        """Refuse to go on with a token that has ended, was revoked, or is of another user now."""
        if await self._gate.user_of(self._socket, self._token) != self._user:
            raise Problem("unauthorized", "the token is now of another user")

    async def _checked(self, fetch: Callable[[], Coroutine[Any, Any, T]]) -> T:
        """Return what *fetch* gives, if the device may still have it."""
        found = await fetch()
        await self._check()
        return found

    async def _until_end(self) -> None:
        """Wait until the token ends, by the clock of its authenticator."""
        while True:
            validity = self._gate.validity(self._token)
            left_s = PING_S if validity is None else validity.left_s
            if left_s <= 0:
                raise Problem("unauthorized", "the token is over: get a new one")
            await asyncio.sleep(min(left_s, PING_S))

    async def _heartbeat(self) -> None:
        while True:
            await asyncio.sleep(PING_S)
            with suppress(ServerUnavailable):  # then nobody can say whether it was revoked
                await self._check()
            await self._say(frames.PING)

    # From the server to the device

    async def _mail(self, after: Position | None) -> None:
        box = self._gate.hf.mailbox(self._user)
        begins = True
        while True:
            fetch = partial(box.fetch, limit=BATCH, timeout=LOOK_S, after=after)
            batch = await self._patiently(fetch)
            if batch:
                await self._deliver(frames.batch(frames.MAILBOX, batch), charged=begins)
                after, begins = batch.position, False

    async def _chats(self, after: dict[str, Position]) -> None:
        allows, begins = self._gate.permission.allows, True
        with self._gate.hf.inbox(self._user).stream(after=after) as inbox:
            while True:
                for batch in await self._patiently(partial(inbox.read, limit=BATCH)):
                    if await allows(self._user, READ, batch.source):
                        frame = frames.batch(frames.CHAT + batch.source, batch)
                        await self._deliver(frame, charged=begins)
                begins = False
                await inbox.wait()
                await self._pay_for_reading(inbox.due)

    async def _pay_for_reading(self, chats: int | None) -> None:
        """Wait until *chats* can be read; None: all.

        Paid apart: what others send may delay deliveries, but not the user's own requests.
        """
        if chats is None:
            chats = await self._patiently(partial(self._gate.inboxes.get, self._user))
        await self._gate.looks.turn(self._user, costs.of_inbox(chats))

    async def _deliver(self, frame: dict[str, Any], *, charged: bool) -> None:
        """Write a batch. What a stream begins with can be asked for again, so the user pays."""
        size = await self._say(frame)
        if charged:
            self._gate.users.charge(self._user, costs.of_read(size))

    async def _patiently(self, fetch: Callable[[], Coroutine[Any, Any, T]]) -> T:
        """Return what *fetch* gives while the token is valid; wait while the server is away."""
        told = False
        while True:
            try:
                return await self._checked(fetch)
            except HoldfastError as error:
                if isinstance(error, ClientClosed):
                    raise
                if not told:
                    await self._say(frames.error(problem_of(error)))
                told = True
                await asyncio.sleep(PAUSE_S)

    # From the device to the server

    async def _listen(self) -> None:
        while True:
            text = await _heard(self._socket)
            await self._turn(1 + costs.of_written(len(text)))
            frame: frames.Frame = decoded(text, frames.Frame)
            key = getattr(frame, "key", None)
            key = new_key() if key is None else key
            try:
                await self._check()
                answer = await self._done(frame, key)
            except ClientClosed:
                raise
            except Exception as error:
                problem = problem_of(error, key)
                if problem.kind == "unauthorized":
                    raise
                answer = frames.error(problem, frame.id)
            await self._say(answer)

    async def _turn(self, cost: int) -> None:
        """Wait until a frame is paid for; meanwhile nothing is read from the device."""
        await self._gate.addresses.turn(self._address)
        await self._gate.users.turn(self._user, cost)

    async def _done(self, frame: frames.Frame, key: str) -> dict[str, Any]:
        """Do what a frame wants, and return the answer."""
        match frame:
            case frames.Send():
                with use_trace(frame.known_trace):
                    return frames.sent(frame, await self._send(frame, key))
            case frames.Ack():
                await self._ack(frame)
                return frames.acked(frame)

    async def _send(self, frame: frames.Send, key: str) -> int:
        if not 0 < len(key) <= LONGEST_KEY:
            raise Problem("bad-request", f"a key has 1 to {LONGEST_KEY} characters")
        kind, _, name = frame.to.partition(":")
        options = {"sender": self._user, "op_id": op_id(self._user, key)}
        demand, hf = self._gate.permission.demand, self._gate.hf
        if kind == "chat":
            await demand(self._user, SEND, name)
            return await hf.chat(name).send(frame.content(), **options)
        if kind == "mailbox":
            await demand(self._user, SEND_MAIL, name)
            self._gate.contacts.write(self._user, name)
            box = hf.mailbox(name)
            return await box.send(frame.content(), per_sender=PER_SENDER, **options)
        raise Problem("bad-request", f"send to chat:ID or mailbox:USER, not {frame.to[:60]!r}")

    async def _ack(self, frame: frames.Ack) -> None:
        chat = frames.chat_of(frame.source)
        if chat is None:
            batch = acknowledging(self._user, frame.position)
            await self._gate.hf.mailbox(self._user).ack(batch)
        else:
            await self._gate.permission.demand(self._user, ACK, chat)
            await acknowledge(self._gate.hf, self._user, chat, frame.position)

    async def _say(self, frame: dict[str, Any]) -> int:
        return await _say(self._socket, frame)


def _resumed(hello: frames.Hello) -> tuple[Position | None, dict[str, Position]]:
    """What the device has, of the mailbox and of each chat."""
    found = {frames.chat_of(source): position(text) for source, text in hello.resume.items()}
    mail = found.pop(None, None)
    return mail, {chat: at for chat, at in found.items() if chat is not None}


async def _heard(socket: WebSocket) -> str:
    """The next frame.

    Raises:
        WebSocketDisconnect: there is none any more.
        Problem: it is binary.
    """
    message = await socket.receive()
    if message["type"] == "websocket.disconnect":
        raise WebSocketDisconnect(message.get("code", 1005))
    text = message.get("text")
    if text is None:
        raise Problem("bad-request", "frames are text: JSON objects")
    return str(text)


async def _say(socket: WebSocket, frame: dict[str, Any]) -> int:
    """Write one frame; return its size.

    Raises:
        WebSocketDisconnect: nobody is there any more.
    """
    text = msgspec.json.encode(frame).decode()
    try:
        await socket.send({"type": "websocket.send", "text": text})
    except RuntimeError as error:  # what is raised when the device hung up while this was written
        raise WebSocketDisconnect(1006) from error
    return len(text)
