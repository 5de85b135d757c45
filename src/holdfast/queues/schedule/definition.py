"""The definition of a schedule, as it is stored."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final, Literal

import msgspec

from ...core.codec import JSON, decoded, encoded
from ...errors import DecodeError
from ..call import MAX_TASK_ID_BYTES, Call, checked_call, checked_task_id
from ..enqueue_batch import Packed, packed
from ..envelope import Envelope
from ..keys import PRIORITIES
from .times import Cron, Every, Once, Timing, timing_of

Missed = Literal["once", "skip", "all"]
Overlap = Literal["allow", "skip"]

MAX_NAME_BYTES: Final = MAX_TASK_ID_BYTES - len("@") - 15
"""Maximum bytes of a name. The id of a task is the name, `@`, and the instant in milliseconds."""


class _Stored(msgspec.Struct, frozen=True):
    """The JSON of a definition."""

    v: int
    timing: dict[str, Any]
    missed: Missed
    overlap: Overlap
    expires: str
    envelope: Envelope


@dataclass(frozen=True, slots=True)
class ScheduleDefinition:
    """What a schedule enqueues, and when.

    Attributes:
        name: name of the schedule.
        timing: a `Cron`, `Every` or `Once`.
        envelope: the envelope of its tasks, with their queue.
        missed: what happens to occurrences that no worker could fire in time.
        overlap: whether an occurrence is enqueued while the task of the one before has not ended.
        expires: when its tasks expire, as in `Call.expires`.
        declared: whether the code of an application declares it.
    """

    name: str
    timing: Timing
    envelope: Envelope
    missed: Missed = "once"
    overlap: Overlap = "allow"
    expires: str = "0"
    declared: bool = False

    @classmethod
    def checked(
        cls,
        name: str,
        call: Call[Any],
        timing: Timing,
        *,
        missed: Missed,
        overlap: Overlap,
        declared: bool = False,
    ) -> ScheduleDefinition:
        """Check the arguments of `hf.schedule`, which explains them.

        Raises:
            InvalidName: The name is not allowed.
            ValueError, TypeError: Another argument is wrong; the message says which, and why.
        """
        checked_schedule_name(name)
        if not isinstance(timing, Cron | Every | Once):
            got = type(timing).__name__
            raise TypeError(f"a schedule takes a Cron(…), Every(…) or Once(…), got {got}")
        if missed not in ("once", "skip", "all"):
            raise ValueError(f"missed must be 'once', 'skip' or 'all', got {missed!r}")
        if overlap not in ("allow", "skip"):
            raise ValueError(f"overlap must be 'allow' or 'skip', got {overlap!r}")
        call = checked_call(call).hooked()
        if call.task_id is not None or call.wait != "0" or call.expires.startswith("@"):
            raise ValueError(
                "the call of a schedule has no task_id, delay, at, or expires at an instant: each "
                "occurrence has its own; expires= takes seconds"
            )
        envelope = msgspec.structs.replace(
            Envelope.unpacked(packed(call, "-")[-1], "-"), queue=call.queue, enqueued_ms=0
        )
        return cls(name, timing, envelope, missed, overlap, call.expires, declared)

    @classmethod
    def unpacked(cls, name: str, data: bytes) -> ScheduleDefinition:
        """Return the definition in *data*.

        Raises:
            DecodeError: Another program or a later version wrote it.
        """
        what = f"the definition of schedule {name!r}"
        stored: _Stored = decoded(JSON, data[1:], _Stored, what)
        if stored.v != 1 or data[:1] not in (b"d", b"s"):
            raise DecodeError(what, f"version {stored.v}, this version reads 1")
        if not stored.envelope.queue:
            raise DecodeError(what, "it names no queue")
        try:
            timing = timing_of(stored.timing)
        except (ValueError, TypeError, KeyError) as error:
            raise DecodeError(what, str(error)) from None
        declared = data[:1] == b"d"
        return cls(
            name, timing, stored.envelope, stored.missed, stored.overlap, stored.expires, declared
        )

    def packed(self) -> bytes:
        """Return the definition as bytes. Equal definitions have equal bytes."""
        stored = _Stored(
            1, self.timing.spec(), self.missed, self.overlap, self.expires, self.envelope
        )
        letter = b"d" if self.declared else b"s"
        return letter + encoded(JSON, stored, f"schedule {self.name!r}")

    @property
    def queue(self) -> str:
        """Return the queue of its tasks."""
        return self.envelope.queue

    def task(self, instant_ms: int, now_ms: int, task_id: str | None = None) -> Packed:
        """Return the task of the occurrence at *instant_ms*, as it is enqueued.

        Args:
            instant_ms: instant of the occurrence, in ms since 1970.
            now_ms: when it is enqueued.
            task_id: id of the task, for `trigger`; by default the name and the instant.
        """
        task_id = task_id or f"{self.name}@{instant_ms}"
        envelope = msgspec.structs.replace(self.envelope, queue="", enqueued_ms=now_ms)
        priority = PRIORITIES.index(envelope.priority) + 1
        return task_id, priority, "0", self.expires, envelope.packed()


def checked_schedule_name(name: str) -> str:
    """Return *name*, or raise why a schedule cannot be called so."""
    return checked_task_id(name, "the name of a schedule", MAX_NAME_BYTES)
