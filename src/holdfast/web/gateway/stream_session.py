"""Serve `/v1/stream`: deliver all messages of a user over one WebSocket.

A device continues after the last message that it received. The gateway fetches a batch only after
it has written the previous one, so a slow device costs the memory of one batch per source. Messages
count as read only when the device acknowledges them.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from contextlib import ExitStack, suppress
from functools import partial
from typing import Any, Final, TypeVar

import msgspec
from starlette.routing import WebSocketRoute
from starlette.websockets import WebSocket, WebSocketDisconnect

from ... import (
    ClientClosed,
    HoldfastError,
    Position,
    ServerUnavailable,
    client_address,
    use_trace,
)
from ..problems import Problem, problem_of
from ..request_parsing import MAX_KEY_LENGTH, decode_json, new_key, op_id
from ..shared_state import TOO_MANY, bearer_token
from ..stream_connection import HELLO_S, connection_of
from . import costs
from . import stream_frames as frames
from .authorization import ACK, READ, SEND, SEND_MAIL
from .gateway_state import GatewayState
from .inbox_routes import acknowledge
from .mailbox_routes import PER_SENDER
from .message_schema import acknowledging, parse_position
from .waiting import first

T = TypeVar("T")

PING_S: Final = 20.0
"""Seconds between two pings. The gateway checks the token before each ping, frame and delivery."""

MAILBOX_WAIT_S: Final = 3600.0
"""Seconds for which one call of `fetch` waits for messages."""

RETRY_S: Final = 1.0
"""Seconds between two attempts to fetch messages while the server is unavailable."""

BATCH: Final = 100
"""Messages in one batch at most."""

RESTARTING: Final = 1012
"""The WebSocket close code for "service restart": the device should connect again."""

REFUSED: Final = 4000
"""Added to the HTTP status of a problem to make its WebSocket close code."""


async def stream(socket: WebSocket) -> None:
    """Serve one WebSocket, and close it with a code that gives the reason."""
    state: GatewayState = socket.app.state.shared
    with ExitStack() as held:
        try:
            held.enter_context(state.unauthenticated.hold(client_address(socket.scope)))
        except Problem as refusal:
            await socket.send_denial_response(refusal.response())
            return
        await socket.accept()
        try:
            hello, token, user = await _authenticated(state, socket)
            with state.waiting.hold(user):
                held.close()  # the stream counts for its user now, not for its address
                connection_of(socket).authenticated()
                session = StreamSession(state, socket, user, token)
                await first(session.run(hello), state.closing.wait())
            code, reason = RESTARTING, "the gateway is restarted"
        except WebSocketDisconnect:
            return
        except ClientClosed:
            code, reason = RESTARTING, "the client of the gateway is closed"
        except Exception as error:  # noqa: BLE001 (the last handler: `problem_of` logs it)
            problem = problem_of(error)
            code, reason = REFUSED + problem.status, problem.kind
            with suppress(WebSocketDisconnect):
                await _write(socket, frames.error(problem))
        with suppress(WebSocketDisconnect, RuntimeError):  # the device disconnected meanwhile
            await socket.close(code, reason)
        connection_of(socket).end()


ROUTES: Final = [WebSocketRoute("/v1/stream", stream)]


async def _authenticated(
    state: GatewayState, socket: WebSocket
) -> tuple[frames.HelloFrame, str | None, str]:
    """Read the first frame within `HELLO_S`. Return the frame, its token and the token's user."""
    try:
        async with asyncio.timeout(HELLO_S):
            hello: frames.HelloFrame = decode_json(await _read(socket), frames.HelloFrame)
            token = hello.token if hello.token is not None else bearer_token(socket)
            user = await state.authenticate(socket, token)
    except TimeoutError:
        raise Problem("bad-request", f"no hello came within {HELLO_S:g} s") from None
    await state.user_rate.require(user, TOO_MANY, await _cost(state, user, hello))
    return hello, token, user


async def _cost(state: GatewayState, user: str, hello: frames.HelloFrame) -> int:
    """Return the cost of opening a stream, which reads all chats of the user."""
    if "chats" not in hello.sources:
        return 1
    return 1 + costs.of_inbox(await state.inbox_sizes.get(user))


class StreamSession:
    """Serves the stream of one authenticated user.

    Args:
        state: the objects that all requests share.
        socket: the WebSocket.
        user: the user of the token.
        token: the token of the user. The session checks it repeatedly, because it may end or be
            revoked.
    """

    def __init__(
        self, state: GatewayState, socket: WebSocket, user: str, token: str | None
    ) -> None:
        self._state = state
        self._socket = socket
        self._user = user
        self._token = token
        self._address = client_address(socket.scope)

    async def run(self, hello: frames.HelloFrame) -> None:
        """Serve the stream. It ends only with an exception.

        Raises:
            WebSocketDisconnect: the device has disconnected.
            Problem: the token is no longer valid, or a frame was malformed.
            ClientClosed: the client of the gateway is closed.
        """
        mail, chats = _resume_positions(hello)
        await self._write(frames.welcome(self._user))
        works = [self._serve_frames(), self._ping(), self._until_token_ends()]
        if "mailbox" in hello.sources:
            works.append(self._deliver_mailbox(mail))
        if "chats" in hello.sources:
            works.append(self._deliver_chats(chats))
        await first(*works)

    # Token

    async def _check_token(self) -> None:
        """Raise a problem if the token has ended, was revoked, or belongs to another user now."""
        if await self._state.authenticate(self._socket, self._token) != self._user:
            raise Problem("unauthorized", "the token now belongs to another user")

    async def _checked(self, fetch: Callable[[], Coroutine[Any, Any, T]]) -> T:
        """Call *fetch*, check the token afterwards, and return the result of *fetch*."""
        found = await fetch()
        await self._check_token()
        return found

    async def _until_token_ends(self) -> None:
        """Raise a problem when the token ends, by the clock of the authenticator."""
        while True:
            validity = self._state.validity(self._token)
            left_s = PING_S if validity is None else validity.left_s
            if left_s <= 0:
                raise Problem("unauthorized", "the token has expired: get a new one")
            await asyncio.sleep(min(left_s, PING_S))

    async def _ping(self) -> None:
        while True:
            await asyncio.sleep(PING_S)
            with suppress(ServerUnavailable):  # then the next check finds a revocation
                await self._check_token()
            await self._write(frames.PING)

    # From the server to the device

    async def _deliver_mailbox(self, after: Position | None) -> None:
        box = self._state.hf.mailbox(self._user)
        is_first = True
        while True:
            fetch = partial(box.fetch, limit=BATCH, timeout=MAILBOX_WAIT_S, after=after)
            batch = await self._retried(fetch)
            if batch:
                await self._deliver(frames.batch(frames.MAILBOX, batch), charged=is_first)
                after, is_first = batch.position, False

    async def _deliver_chats(self, after: dict[str, Position]) -> None:
        allows, is_first = self._state.authorization.allows, True
        with self._state.hf.inbox(self._user).stream(after=after) as inbox:
            while True:
                for batch in await self._retried(partial(inbox.read, limit=BATCH)):
                    if await allows(self._user, READ, batch.source):
                        frame = frames.batch(frames.CHAT + batch.source, batch)
                        await self._deliver(frame, charged=is_first)
                is_first = False
                await inbox.wait()
                await self._pay_for_reading(inbox.due)

    async def _pay_for_reading(self, chats: int | None) -> None:
        """Wait until the user's inbox rate limit allows reading *chats* chats (None: all of them).

        That limit is separate from the one for requests: messages of others may delay deliveries,
        but not the user's own requests.
        """
        if chats is None:
            chats = await self._retried(partial(self._state.inbox_sizes.get, self._user))
        await self._state.inbox_rate.wait_for(self._user, costs.of_inbox(chats))

    async def _deliver(self, frame: dict[str, Any], *, charged: bool) -> None:
        """Write a batch. If *charged*, charge the user for its size when the rate limit allows it.

        Charge only for the batches that a device gets at the start: a device could connect
        repeatedly to get them again.
        """
        size = await self._write(frame)
        if charged:
            await self._state.user_rate.wait_for(self._user, costs.of_read(size))

    async def _retried(self, fetch: Callable[[], Coroutine[Any, Any, T]]) -> T:
        """Call *fetch* until it succeeds, and return its result.

        Retry after each `HoldfastError`, but report only the first one to the device.
        """
        reported = False
        while True:
            try:
                return await self._checked(fetch)
            except HoldfastError as error:
                if isinstance(error, ClientClosed):
                    raise
                if not reported:
                    await self._write(frames.error(problem_of(error)))
                reported = True
                await asyncio.sleep(RETRY_S)

    # From the device to the server

    async def _serve_frames(self) -> None:
        while True:
            text = await _read(self._socket)
            await self._pay_for_frame(1 + costs.of_written(len(text)))
            frame: frames.Frame = decode_json(text, frames.Frame)
            key = getattr(frame, "key", None)
            key = new_key() if key is None else key
            try:
                await self._check_token()
                answer = await self._serve(frame, key)
            except ClientClosed:
                raise
            except Exception as error:
                problem = problem_of(error, key)
                if problem.kind == "unauthorized":
                    raise
                answer = frames.error(problem, frame.id)
            await self._write(answer)

    async def _pay_for_frame(self, cost: int) -> None:
        """Wait until the rate limits of the address and of the user allow another frame."""
        await self._state.address_rate.wait_for(self._address)
        await self._state.user_rate.wait_for(self._user, cost)

    async def _serve(self, frame: frames.Frame, key: str) -> dict[str, Any]:
        """Execute *frame* and return the answer."""
        match frame:
            case frames.SendFrame():
                with use_trace(frame.valid_trace):
                    return frames.sent(frame, await self._send(frame, key))
            case frames.AckFrame():
                await self._ack(frame)
                return frames.acked(frame)

    async def _send(self, frame: frames.SendFrame, key: str) -> int:
        if not 0 < len(key) <= MAX_KEY_LENGTH:
            raise Problem("bad-request", f"a key has 1 to {MAX_KEY_LENGTH} characters")
        kind, _, name = frame.to.partition(":")
        options = {"sender": self._user, "op_id": op_id(self._user, key)}
        state = self._state
        if kind == "chat":
            await state.authorization.require(self._user, SEND, name)
            return await state.hf.chat(name).send(frame.content(), **options)
        if kind == "mailbox":
            await state.authorization.require(self._user, SEND_MAIL, name)
            await state.contact_limits.write(self._user, name)
            box = state.hf.mailbox(name)
            return await box.send(frame.content(), per_sender=PER_SENDER, **options)
        raise Problem("bad-request", f"send to chat:ID or mailbox:USER, not {frame.to[:60]!r}")

    async def _ack(self, frame: frames.AckFrame) -> None:
        chat = frames.chat_of(frame.source)
        if chat is None:
            batch = acknowledging(self._user, frame.position)
            await self._state.hf.mailbox(self._user).ack(batch)
        else:
            await self._state.authorization.require(self._user, ACK, chat)
            await acknowledge(self._state.hf, self._user, chat, frame.position)

    async def _write(self, frame: dict[str, Any]) -> int:
        return await _write(self._socket, frame)


def _resume_positions(hello: frames.HelloFrame) -> tuple[Position | None, dict[str, Position]]:
    """Return the positions after which to deliver: that of the mailbox, and those of the chats."""
    found = {frames.chat_of(source): parse_position(text) for source, text in hello.resume.items()}
    mail = found.pop(None, None)
    return mail, {chat: at for chat, at in found.items() if chat is not None}


async def _read(socket: WebSocket) -> str:
    """Return the next frame of the device.

    Raises:
        WebSocketDisconnect: the device has disconnected.
        Problem: the frame is binary.
    """
    message = await socket.receive()
    if message["type"] == "websocket.disconnect":
        raise WebSocketDisconnect(message.get("code", 1005))
    text = message.get("text")
    if text is None:
        raise Problem("bad-request", "frames are text: JSON objects")
    return str(text)


async def _write(socket: WebSocket, frame: dict[str, Any]) -> int:
    """Write one frame and return its size.

    Raises:
        WebSocketDisconnect: the device has disconnected.
    """
    text = msgspec.json.encode(frame).decode()
    try:
        await socket.send({"type": "websocket.send", "text": text})
    except RuntimeError as error:  # Starlette's error if the device disconnected during the write
        raise WebSocketDisconnect(1006) from error
    return len(text)
