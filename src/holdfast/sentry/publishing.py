"""Put the current trace of Sentry into the headers of a call."""

from __future__ import annotations

from contextlib import suppress
from typing import Any, Final, TypeVar

import sentry_sdk
from sentry_sdk import traces
from sentry_sdk.tracing_utils import has_span_streaming_enabled

from .. import Call

R = TypeVar("R")

TRACE_HEADERS: Final = ("sentry-trace", "baggage")
ORIGIN: Final = "auto.queue.holdfast"


def published(call: Call[R]) -> Call[R]:
    """Return *call* with the headers of the current trace.

    If there is a current span, add a child span `queue.publish`, and use the headers of this child.
    If the headers of *call* get too long, leave out the baggage, or all trace headers. If *call*
    has trace headers already, return it unchanged.
    """
    if any(name in call.headers for name in TRACE_HEADERS):
        return call
    if is_streaming():
        if traces.get_current_span() is None:
            return _with_trace(call)
        attributes: dict[str, Any] = {
            "sentry.op": "queue.publish",
            "sentry.origin": ORIGIN,
            "messaging.destination.name": call.queue,
            "messaging.system": "holdfast",
        }
        with traces.start_span(call.task, attributes):
            return _with_trace(call)
    if sentry_sdk.get_current_span() is None:
        return _with_trace(call)
    with sentry_sdk.start_span(op="queue.publish", name=call.task, origin=ORIGIN) as span:
        span.set_data("messaging.destination.name", call.queue)
        span.set_data("messaging.system", "holdfast")
        return _with_trace(call)


def is_streaming() -> bool:
    """Return whether spans are sent one by one, and not as transactions."""
    return has_span_streaming_enabled(sentry_sdk.get_client().options)


def _with_trace(call: Call[R]) -> Call[R]:
    trace, baggage = sentry_sdk.get_traceparent(), sentry_sdk.get_baggage()
    for values in ((trace, baggage), (trace, None)):
        found = zip(TRACE_HEADERS, values, strict=True)
        with suppress(ValueError):  # the headers of *call* would be too long
            return call.options(headers={name: value for name, value in found if value})
    return call
