"""Define the frames of a stream. Each is a JSON object with a `type`."""

from __future__ import annotations

from typing import Any, Final, Literal

import msgspec

from ... import Batch, TraceContext
from ..problems import Problem
from .message_schema import MessageContent, batch_json

MAILBOX: Final = "mailbox"
CHAT: Final = "chat:"


# From the client


class HelloFrame(msgspec.Struct, tag="hello", forbid_unknown_fields=True):
    """The first frame of a device. It authenticates the user and says what to deliver.

    Attributes:
        token: the token of the user; None: it is in the header Authorization.
        sources: the sources of messages to deliver.
        resume: source → position of the last batch that the device has received.
    """

    token: str | None = None
    sources: tuple[Literal["mailbox", "chats"], ...] = ("mailbox", "chats")
    resume: dict[str, str] = {}


class AckFrame(msgspec.Struct, tag="ack", forbid_unknown_fields=True):
    """Acknowledges all messages of a source up to a position."""

    source: str
    position: str
    id: str | int | None = None


class SendFrame(MessageContent, tag="send", kw_only=True):
    """Sends a message.

    Attributes:
        to: the destination: `chat:ID` or `mailbox:USER`.
        id: any value; the answer contains it.
        key: the idempotency key, as in the header Idempotency-Key.
        trace: the trace context, as in the headers traceparent and tracestate.
    """

    to: str
    id: str | int | None = None
    key: str | None = None
    trace: TraceContext | None = None

    @property
    def valid_trace(self) -> TraceContext | None:
        """Return the trace if it is well-formed."""
        given = self.trace
        return given and TraceContext.parsed(given.traceparent, given.tracestate)


Frame = AckFrame | SendFrame


# From the gateway


def welcome(user: str) -> dict[str, Any]:
    """Return the answer to a `HelloFrame`."""
    return {"type": "welcome", "user": user}


def batch(source: str, news: Batch) -> dict[str, Any]:
    """Return the frame that delivers the messages *news* of *source*."""
    return {"type": "batch", "source": source, **batch_json(news)}


def sent(frame: SendFrame, seq: int) -> dict[str, Any]:
    """Return the answer to a `SendFrame`; *seq* is the number that the message got."""
    return {"type": "sent", "id": frame.id, "to": frame.to, "seq": seq}


def acked(frame: AckFrame) -> dict[str, Any]:
    """Return the answer to an `AckFrame`."""
    return {"type": "acked", "id": frame.id, "source": frame.source, "position": frame.position}


def error(problem: Problem, id: str | int | None = None) -> dict[str, Any]:  # noqa: A002 (its JSON name)
    """Return the frame that reports *problem*; *id* is that of the frame that caused it."""
    return {"type": "error", "id": id, "problem": problem.fields()}


PING: Final = {"type": "ping"}


def chat_of(source: str) -> str | None:
    """Return the chat id in the source `chat:ID`, or None for the source `mailbox`.

    Raises:
        Problem: *source* is neither.
    """
    if source == MAILBOX:
        return None
    if not source.startswith(CHAT):
        raise Problem("bad-request", f"a source is mailbox or chat:ID, not {source[:60]!r}")
    return source.removeprefix(CHAT)
