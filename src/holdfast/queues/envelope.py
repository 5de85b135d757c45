"""The wire envelope: one task as JSON, as any language may write it.

    {"v": 1, "id": "…", "queue": "email", "task": "send_sold_email",
     "args": ["17", "itemX", 97], "kwargs": {"buyer": "27"}, "enqueued_ms": 1763718000123}

`v`, `id`, `queue` and `task` are needed, the rest may be left out. Reading one never runs or
imports anything: the task is looked up by name in the worker's own registry, and the arguments are
converted to what its signature says. Unknown fields are ignored, so that a newer producer does no
harm.
"""

from __future__ import annotations

from typing import Any, Final

import msgspec

from ..core.codec import JSON, decoded, encoded
from ..core.trace import TraceContext
from ..errors import DecodeError

VERSION: Final = 1


class Envelope(msgspec.Struct, frozen=True, omit_defaults=True):
    """One task on the wire.

    Attributes:
        v: version of this format.
        id: names the task within its queue.
        queue: the queue it was put into.
        task: name in the registry.
        args: positional arguments.
        kwargs: keyword arguments.
        priority: the line it was put into; for people to read.
        enqueued_ms: when its producer says it was enqueued, ms since 1970; for people to read.
        traceparent: the trace in which it was enqueued, as in the HTTP header of that name.
        tracestate: likewise.
    """

    v: int
    id: str
    queue: str
    task: str
    args: list[Any] = []
    kwargs: dict[str, Any] = {}
    priority: str = "medium"
    enqueued_ms: int = 0
    traceparent: Any = None  # whatever another program wrote here, the task runs
    tracestate: Any = None

    @property
    def trace(self) -> TraceContext | None:
        """The trace in which it was enqueued, if it says so."""
        told = (self.traceparent, self.tracestate)
        return TraceContext.parsed(*(each if isinstance(each, str) else None for each in told))

    def packed(self) -> bytes:
        """As bytes; raises `PayloadTooLarge`, or TypeError for arguments that are no JSON."""
        return encoded(JSON, self, f"task {self.task!r}")

    @classmethod
    def unpacked(cls, data: bytes, task_id: str) -> Envelope:
        """The envelope in *data*, found under *task_id*.

        Raises:
            DecodeError: it is none, of a newer version, or another task's.
        """
        what = f"the envelope of task {task_id!r}"
        try:
            envelope: Envelope = decoded(JSON, data, cls, what)
        except DecodeError:
            _check_version(decoded(JSON, data, _Versioned, what), what)
            raise
        _check_version(envelope, what)
        if envelope.id != task_id:
            raise DecodeError(what, f"it says to be {envelope.id!r}")
        return envelope


def is_newer(data: bytes) -> bool:
    """Whether *data* is an envelope of a later version, which a newer worker can read."""
    try:
        versioned: _Versioned = decoded(JSON, data, _Versioned, "an envelope")
    except DecodeError:
        return False
    return versioned.v > VERSION


class _Versioned(msgspec.Struct):
    """What every version of an envelope has."""

    v: int


def _check_version(envelope: Envelope | _Versioned, what: str) -> None:
    if envelope.v != VERSION:
        raise DecodeError(what, f"version {envelope.v}, this worker reads {VERSION}")
