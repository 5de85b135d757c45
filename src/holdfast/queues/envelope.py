"""The wire envelope: one task as JSON, which any language can write.

    {"v": 1, "task": "send_sold_email", "args": ["17", "itemX", 97], "kwargs": {"buyer": "27"},
     "ts": 1763718000123}

`v` and `task` are required, the other fields are optional. The key and the field under which an
envelope is stored already name the queue and the id, so Holdfast does not repeat them. Decoding
never runs or imports anything. The worker looks up the task by name in its own registry, and
converts the arguments to the types in its signature. Unknown fields are ignored, so that a newer
producer does no harm.
"""

from __future__ import annotations

from typing import Annotated, Any, Final

import msgspec

from ..core.clock import MAX_MS, not_early_ms
from ..core.codec import JSON, decoded, encoded
from ..core.trace import TraceContext
from ..errors import DecodeError
from .retry import MAX_DELAYS, Retry

VERSION: Final = 1

_Count = Annotated[int, msgspec.Meta(ge=0)]
_Ms = Annotated[int, msgspec.Meta(ge=0, le=MAX_MS)]


class StoredRetry(msgspec.Struct, frozen=True, omit_defaults=True):
    """The options of a call's retry policy that differ from those of its task; see `Retry`."""

    attempts: Annotated[int, msgspec.Meta(ge=1)] | None = None
    backoff_ms: _Ms | None = None
    longest_ms: _Ms | None = None
    delays_ms: Annotated[list[_Ms], msgspec.Meta(max_length=MAX_DELAYS)] | None = None
    snoozes: _Count | None = None

    @classmethod
    def of(cls, retry: Retry, task: Retry | None) -> StoredRetry:
        """Return the options of *retry* that differ from those of its *task*; all if the task is
        unknown."""
        own = None if task is None else _stored(task)
        fields = _stored(retry)
        return cls(**{n: value for n, value in fields.items() if own is None or value != own[n]})

    def applied_to(self, retry: Retry) -> Retry:
        """Return *retry* with the options that are set here."""
        fields = _stored(retry) | {
            name: value
            for name in self.__struct_fields__
            if (value := getattr(self, name)) is not None
        }
        return Retry(
            fields["attempts"],
            fields["backoff_ms"] / 1000,
            fields["longest_ms"] / 1000,
            delays=[delay_ms / 1000 for delay_ms in fields["delays_ms"]],
            on=retry.on,
            never=retry.never,
            snoozes=fields["snoozes"],
        )


def _stored(retry: Retry) -> dict[str, Any]:
    return {
        "attempts": retry.attempts,
        "backoff_ms": round(retry.backoff * 1000),
        "longest_ms": round(retry.longest * 1000),
        "delays_ms": [not_early_ms(delay) for delay in retry.delays],
        "snoozes": retry.snoozes,
    }


class Envelope(
    msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True, rename={"enqueued_ms": "ts"}
):
    """One task on the wire.

    Attributes:
        v: version of this format.
        id: the id of the task in its queue; empty: the one under which it is stored.
        queue: the queue it was put into; empty: the one where it is stored.
        task: name in the registry.
        args: positional arguments.
        kwargs: keyword arguments.
        priority: `high`, `medium` or `low`; for people to read.
        enqueued_ms: `ts`, when it was enqueued, in ms since 1970 by the producer's clock.
        traceparent: the trace in which it was enqueued, as in the HTTP header of that name.
        tracestate: vendor data of that trace, as in the HTTP header of that name.
        headers: names and values that accompany it.
        timeout_ms: how long an attempt may take; 0: as the task says.
        retry: the options in which its retry policy differs from that of the task.
        partition: a key that chooses its partition, if the queue has several.
        limit: its limit key and the limits of that key, as `lua/parts/limit.lua` reads them. This
            field and the next ones are the last ones, where the scripts look for them.
        unique: its unique key, and how long it holds the key, as `lua/parts/unique.lua` reads it.
        group: id of its group, and its name there, as `lua/parts/member.lua` reads them.
    """

    v: int
    id: str = ""
    queue: str = ""
    task: str
    args: list[Any] = []
    kwargs: dict[str, Any] = {}
    priority: str = "medium"
    enqueued_ms: int = 0
    traceparent: Any = None  # of any type: a wrong trace must not keep the task from running
    tracestate: Any = None
    headers: dict[str, str] = {}
    timeout_ms: _Ms = 0
    retry: StoredRetry | None = None
    partition: Any = None
    limit: Any = None
    unique: Any = None  # of any type: another program may have a field of this name
    group: Any = None

    @property
    def trace(self) -> TraceContext | None:
        """Return the trace in which it was enqueued, if there is one."""
        if self.traceparent is None:
            return None
        headers = (self.traceparent, self.tracestate)
        return TraceContext.parsed(*(each if isinstance(each, str) else None for each in headers))

    @property
    def group_id(self) -> str:
        """Return the id of its group; empty if it is no member of a group."""
        group = self.group
        return group.partition(" ")[0] if isinstance(group, str) else ""

    def packed(self) -> bytes:
        """Return the envelope as bytes.

        Raises:
            PayloadTooLarge: it is over the limit.
            TypeError: an argument is no JSON.
        """
        try:
            return encoded(JSON, self, f"task {self.task!r}")
        except TypeError as error:
            if "of type Placeholder " not in str(error):
                raise
            raise TypeError(
                f"task {self.task!r} cannot be stored: RESULT and GROUP_ID must be whole arguments "
                "of calls in a group or a chain; they cannot be within a list or an object"
            ) from None

    @classmethod
    def unpacked(cls, data: bytes, task_id: str) -> Envelope:
        """Return the envelope in *data*, which was stored under *task_id*.

        Raises:
            DecodeError: it cannot be decoded, is of a newer version, or is that of another task.
        """
        what = f"the envelope of task {task_id!r}"
        try:
            envelope: Envelope = decoded(JSON, data, cls, what)
        except DecodeError:
            _check_version(decoded(JSON, data, _Versioned, what), what)
            raise
        _check_version(envelope, what)
        if envelope.id not in ("", task_id):
            raise DecodeError(what, f"it says to be {envelope.id!r}")
        return envelope


def is_newer(data: bytes) -> bool:
    """Return whether *data* is an envelope of a later version, which a newer worker can read."""
    try:
        versioned: _Versioned = decoded(JSON, data, _Versioned, "an envelope")
    except DecodeError:
        return False
    return versioned.v > VERSION


class _Versioned(msgspec.Struct):
    """The field that every version of an envelope has."""

    v: int


def _check_version(envelope: Envelope | _Versioned, what: str) -> None:
    if envelope.v != VERSION:
        raise DecodeError(what, f"version {envelope.v}, this worker reads {VERSION}")
