"""One stream: a user's device, for as long as its line holds.

Batches flow as fast as the device takes them: the next one is fetched when the last one has been
written, so a slow reader costs one batch. Nothing is acknowledged unless the device says so.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Coroutine
from functools import partial
from typing import Any, Final, TypeVar

import msgspec
from starlette.websockets import WebSocket, WebSocketDisconnect

from ... import HoldfastError, Position, use_trace
from ..gate import Gate, bearer, new_key
from ..inbox import acknowledge
from ..mailbox import PER_SENDER
from ..problems import Problem, problem_of
from ..visit import LONGEST_KEY, decoded, op_id
from ..waiting import first
from ..wire import acknowledging, position
from . import frames

T = TypeVar("T")

HELLO_S: Final = 10.0
"""Within this a device must say who it is."""

PING_S: Final = 20.0
"""Between two signs of life; as often the token is looked at again."""

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
    await socket.accept()
    try:
        hello, token, user = await _introduced(gate, socket)
        with gate.places.one(user):
            session = Session(gate, socket, user, token)
            await first(session.run(hello), gate.closing.wait())
        code, reason = RESTARTING, "the gateway is restarted"
    except WebSocketDisconnect:
        return
    except Exception as error:  # noqa: BLE001 (the last one to catch it: `problem_of` logs it)
        problem = problem_of(error)
        code, reason = REFUSED + problem.status, problem.kind
        with contextlib.suppress(WebSocketDisconnect):
            await _say(socket, frames.error(problem))
    with contextlib.suppress(WebSocketDisconnect, RuntimeError):  # it has hung up meanwhile
        await socket.close(code, reason)


async def _introduced(gate: Gate[str], socket: WebSocket) -> tuple[frames.Hello, str | None, str]:
    """The first frame, and whose it is."""
    try:
        async with asyncio.timeout(HELLO_S):
            hello: frames.Hello = decoded(await _heard(socket), frames.Hello)
    except TimeoutError:
        raise Problem("bad-request", f"no hello came within {HELLO_S:g} s") from None
    token = hello.token if hello.token is not None else bearer(socket)
    user = await gate.user_of(socket, token)
    gate.users.demand(user, "this user")
    return hello, token, user


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

    async def run(self, hello: frames.Hello) -> None:
        """Serve until the device goes.

        Raises:
            WebSocketDisconnect: it has gone.
            Problem: it may stay no longer.
        """
        mail, chats = _resumed(hello)
        await self._say(frames.welcome(self._user))
        works: list[Coroutine[Any, Any, None]] = [self._listen(), self._heartbeat()]
        if "mailbox" in hello.sources:
            works.append(self._mail(mail))
        if "chats" in hello.sources:
            works.append(self._chats(chats))
        await first(*works)

    # From the server to the device

    async def _mail(self, after: Position | None) -> None:
        box = self._gate.hf.mailbox(self._user)
        while True:
            fetch = partial(box.fetch, limit=BATCH, timeout=LOOK_S, after=after)
            batch = await self._patiently(fetch)
            if batch:
                await self._say(frames.batch(frames.MAILBOX, batch))
                after = batch.position

    async def _chats(self, after: dict[str, Position]) -> None:
        inbox = self._gate.hf.inbox(self._user)
        while True:
            fetch = partial(inbox.fetch, limit=BATCH, timeout=LOOK_S, after=after)
            for batch in await self._patiently(fetch):
                await self._say(frames.batch(frames.CHAT + batch.source, batch))
                after[batch.source] = batch.position

    async def _patiently(self, fetch: Callable[[], Coroutine[Any, Any, T]]) -> T:
        """What *fetch* gives; while the server cannot be asked, the device is told so once."""
        told = False
        while True:
            try:
                return await fetch()
            except HoldfastError as error:
                if not told:
                    await self._say(frames.error(problem_of(error)))
                told = True
                await asyncio.sleep(PAUSE_S)

    async def _heartbeat(self) -> None:
        while True:
            await asyncio.sleep(PING_S)
            if await self._gate.user_of(self._socket, self._token) != self._user:
                raise Problem("unauthorized", "the token is now somebody else's")
            await self._say(frames.PING)

    # From the device to the server

    async def _listen(self) -> None:
        while True:
            text = await _heard(self._socket)
            await self._gate.users.turn(self._user)  # meanwhile nothing is read from the device
            frame: frames.Frame = decoded(text, frames.Frame)
            key = getattr(frame, "key", None)
            key = new_key() if key is None else key
            try:
                await self._say(await self._done(frame, key))
            except Exception as error:  # noqa: BLE001 (`problem_of` logs what nobody expects)
                await self._say(frames.error(problem_of(error, key), frame.id))

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
        sender, named = self._user, op_id(self._user, key)
        if kind == "chat":
            chat = self._gate.hf.chat(name)
            return await chat.send(frame.content(), sender=sender, op_id=named)
        if kind == "mailbox":
            box = self._gate.hf.mailbox(name)
            return await box.send(
                frame.content(), sender=sender, per_sender=PER_SENDER, op_id=named
            )
        raise Problem("bad-request", f"send to chat:ID or mailbox:USER, not {frame.to[:60]!r}")

    async def _ack(self, frame: frames.Ack) -> None:
        chat = frames.chat_of(frame.source)
        if chat is None:
            batch = acknowledging(self._user, frame.position)
            await self._gate.hf.mailbox(self._user).ack(batch)
        else:
            await acknowledge(self._gate.hf, self._user, chat, frame.position)

    async def _say(self, frame: dict[str, Any]) -> None:
        await _say(self._socket, frame)


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


async def _say(socket: WebSocket, frame: dict[str, Any]) -> None:
    """Write one frame.

    Raises:
        WebSocketDisconnect: nobody is there any more.
    """
    text = msgspec.json.encode(frame).decode()
    try:
        await socket.send({"type": "websocket.send", "text": text})
    except RuntimeError as error:  # what is raised when the device hung up while this was written
        raise WebSocketDisconnect(1006) from error
