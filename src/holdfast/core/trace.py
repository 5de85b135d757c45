"""Store the trace of a task or message with it, as a W3C trace context."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Final

import msgspec

_PARENT: Final = re.compile(r"([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?")
_STATE: Final = re.compile(r"[\x20-\x7e]{1,512}")
_NO_TRACE: Final = "0" * 32
_NO_SPAN: Final = "0" * 16


class TraceContext(msgspec.Struct, frozen=True, omit_defaults=True):
    """The trace and the span in which a task or message was sent.

    Attributes:
        traceparent: version, trace id, span id and flags, as in the HTTP header of that name.
        tracestate: data of tracing systems, as in the HTTP header of that name; often empty.
    """

    traceparent: str
    tracestate: str = ""

    @classmethod
    def parsed(cls, traceparent: str | None, tracestate: str | None = None) -> TraceContext | None:
        """Return the trace in the values of the two HTTP headers; None if they are invalid."""
        found = _PARENT.fullmatch(traceparent or "")
        if found is None:
            return None
        version, trace_id, span_id, flags, more = found.groups()
        if version == "ff" or trace_id == _NO_TRACE or span_id == _NO_SPAN:
            return None
        if more and version == "00":
            return None
        state = tracestate or ""
        # Of a later version of the standard, keep the fields that version 00 has.
        known = f"00-{trace_id}-{span_id}-{flags}"
        return cls(known, state if _STATE.fullmatch(state) else "")

    @property
    def trace_id(self) -> str:
        """Return the id of the trace, in 32 hexadecimal digits."""
        return self.traceparent[3:35]

    @property
    def span_id(self) -> str:
        """Return the id of the span, in 16 hexadecimal digits."""
        return self.traceparent[36:52]


def stored(trace: TraceContext | None) -> str:
    """Return *trace* as text: `traceparent`, a blank, `tracestate`; an empty text for None."""
    if trace is None:
        return ""
    return f"{trace.traceparent} {trace.tracestate}" if trace.tracestate else trace.traceparent


def restored(text: str) -> TraceContext | None:
    """Return the trace from a text that `stored` returned; None if it has no valid trace."""
    traceparent, _, tracestate = text.partition(" ")
    return TraceContext.parsed(traceparent, tracestate)


def added_bytes(trace: TraceContext | None) -> int:
    """Return the number of bytes that *trace* adds to a JSON object."""
    return 0 if trace is None else len(msgspec.json.encode(trace)) - len(b",")


_current: ContextVar[TraceContext | None] = ContextVar("holdfast_trace", default=None)


def current_trace() -> TraceContext | None:
    """Return the trace that tasks and messages sent from here continue; None if there is none.

    - While a task runs: the trace in which it was enqueued; with `OpenTelemetry`, the span of the
      attempt.
    - While the gateway processes a request: the trace in the request's headers.
    - Inside `with use_trace(…)`: the given trace.
    """
    return _current.get()


@contextmanager
def use_trace(trace: TraceContext | None) -> Iterator[None]:
    """Let tasks and messages that are sent in this context continue *trace*.

    To continue the trace of a received message, pass `message.trace`.
    """
    token = _current.set(trace)
    try:
        yield
    finally:
        _current.reset(token)


def enter_trace(trace: TraceContext | None) -> None:
    """Set the trace of the current task or thread from now on."""
    _current.set(trace)
