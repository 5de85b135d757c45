"""W3C trace context: which trace something belongs to, as it travels with tasks and messages."""

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
    """The step of a trace in which something was sent.

    Attributes:
        traceparent: version, trace, span and flags, as in the HTTP header of that name.
        tracestate: what vendors add, as in that HTTP header; mostly empty.
    """

    traceparent: str
    tracestate: str = ""

    @classmethod
    def parsed(cls, traceparent: str | None, tracestate: str | None = None) -> TraceContext | None:
        """Return the trace in two headers; None if they are invalid by the standard."""
        found = _PARENT.fullmatch(traceparent or "")
        if found is None:
            return None
        version, trace_id, span_id, flags, more = found.groups()
        if version == "ff" or trace_id == _NO_TRACE or span_id == _NO_SPAN:
            return None
        if more and version == "00":
            return None
        state = tracestate or ""
        known = f"00-{trace_id}-{span_id}-{flags}"  # of a later version, what this one has too
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
    """Return both parts in one text, with a blank between them; an empty text for None."""
    if trace is None:
        return ""
    return f"{trace.traceparent} {trace.tracestate}" if trace.tracestate else trace.traceparent


def restored(text: str) -> TraceContext | None:
    """Return the trace in what `stored` returned; None if there is none."""
    traceparent, _, tracestate = text.partition(" ")
    return TraceContext.parsed(traceparent, tracestate)


def added_bytes(trace: TraceContext | None) -> int:
    """Return the bytes that the trace adds to a JSON object."""
    return 0 if trace is None else len(msgspec.json.encode(trace)) - len(b",")


_current: ContextVar[TraceContext | None] = ContextVar("holdfast_trace", default=None)


def current_trace() -> TraceContext | None:
    """Return the trace that is sent along from here; None if Holdfast knows of none.

    In a task it is that in which it was enqueued (with `OpenTelemetry` the span of the attempt), in
    a request to the gateway that of its headers, and in `with use_trace(…)` that one.
    """
    return _current.get()


@contextmanager
def use_trace(trace: TraceContext | None) -> Iterator[None]:
    """Have tasks and messages that are sent within continue *trace*, such as `message.trace`."""
    token = _current.set(trace)
    try:
        yield
    finally:
        _current.reset(token)


def enter_trace(trace: TraceContext | None) -> None:
    """Set the trace that this context continues from now on."""
    _current.set(trace)
