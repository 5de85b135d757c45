"""The frames of a stream, each a JSON object with a `type`."""

from __future__ import annotations

from typing import Any, Final, Literal

import msgspec

from ... import Batch, TraceContext
from ..problems import Problem
from ..wire import Content, batch_json

MAILBOX: Final = "mailbox"
CHAT: Final = "chat:"

# What clients say


class Hello(msgspec.Struct, tag="hello", forbid_unknown_fields=True):
    """The first frame: who is there, what it wants, and what it has.

    Attributes:
        token: unless it came as a header.
        sources: what is wanted.
        resume: source → position of the last batch that the device has.
    """

    token: str | None = None
    sources: tuple[Literal["mailbox", "chats"], ...] = ("mailbox", "chats")
    resume: dict[str, str] = {}


class Ack(msgspec.Struct, tag="ack", forbid_unknown_fields=True):
    """Be done with everything in a source up to a position."""

    source: str
    position: str
    id: str | int | None = None


class Send(Content, tag="send", kw_only=True):
    """Send a message: to `chat:ID`, or to `mailbox:USER`.

    Attributes:
        to: where.
        id: comes back in the answer.
        key: as the header Idempotency-Key.
        trace: as the headers traceparent and tracestate.
    """

    to: str
    id: str | int | None = None
    key: str | None = None
    trace: TraceContext | None = None

    @property
    def known_trace(self) -> TraceContext | None:
        """The trace, if it is one."""
        told = self.trace
        return told and TraceContext.parsed(told.traceparent, told.tracestate)


Frame = Ack | Send

# What the gateway says


def welcome(user: str) -> dict[str, Any]:
    """The answer to a hello."""
    return {"type": "welcome", "user": user}


def batch(source: str, news: Batch) -> dict[str, Any]:
    """What is new in a source."""
    return {"type": "batch", "source": source, **batch_json(news)}


def sent(frame: Send, seq: int) -> dict[str, Any]:
    """A message has its number."""
    return {"type": "sent", "id": frame.id, "to": frame.to, "seq": seq}


def acked(frame: Ack) -> dict[str, Any]:
    """It is acknowledged."""
    return {"type": "acked", "id": frame.id, "source": frame.source, "position": frame.position}


def error(problem: Problem, id: str | int | None = None) -> dict[str, Any]:  # noqa: A002 (of the wire)
    """What went wrong: the fields of problem+json."""
    return {"type": "error", "id": id, "problem": problem.fields()}


PING: Final = {"type": "ping"}


def chat_of(source: str) -> str | None:
    """The id in `chat:ID`; None: it is the mailbox.

    Raises:
        Problem: it is neither.
    """
    if source == MAILBOX:
        return None
    if not source.startswith(CHAT):
        raise Problem("bad-request", f"a source is mailbox or chat:ID, not {source[:60]!r}")
    return source.removeprefix(CHAT)
