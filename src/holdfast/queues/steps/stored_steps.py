"""The steps of a task: as they are stored, and as users see them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal

import msgspec

from ...core.clock import MAX_MS, from_epoch_ms
from .step_record import BegunStep, Kind, StepRecord

StepState = Literal["done", "failed", "late", "sleeping", "waiting"]


@dataclass(frozen=True, slots=True)
class StoredSteps:
    """The stored steps of a task.

    Attributes:
        records: the steps that have ended.
        begun: the sleep or the wait that has begun.
        signals: names of the signals that no wait has taken, the oldest first.
    """

    records: Sequence[StepRecord]
    begun: BegunStep | None
    signals: Sequence[str]


@dataclass(frozen=True, slots=True)
class StepStatus:
    """One step of a task.

    Attributes:
        number: 1 for the first.
        name: its name, with its number if the name is repeated: `charge#2`.
        kind: `step`; `sleep`; or `wait`, for a signal.
        state: `done`; `failed`, its exception was caught by the task; `late`, no signal arrived in
            time; `sleeping` or `waiting`, it has not ended.
        result: the JSON of its result, its signal or its exception; empty if it has not ended. A
            text that was cut ends with `…`.
        ended_at: when it was stored, by the server's clock; None if it has not ended.
        until: when a sleep or a wait that has not ended ends at the latest; None: no limit.
        duration: how long its function ran, in seconds.
        attempt: the attempt of the task in which it ended.
    """

    number: int
    name: str
    kind: Kind
    state: StepState
    result: str = ""
    ended_at: datetime | None = None
    until: datetime | None = None
    duration: float = 0.0
    attempt: int = 0

    @property
    def value(self) -> Any:
        """Return its result as a JSON value; None if it has not ended.

        Raises:
            ValueError: the result was cut.
        """
        return msgspec.json.decode(self.result) if self.result else None


@dataclass(frozen=True, slots=True)
class TaskSteps:
    """The steps of a task. Iterate over it, or take its `len`.

    Attributes:
        steps: those that have ended, and the sleep or the wait that has begun.
        signals: names of the signals that no `wait_for` has taken, the oldest first.
    """

    steps: Sequence[StepStatus] = ()
    signals: Sequence[str] = field(default=())

    @classmethod
    def of(cls, stored: StoredSteps, result_bytes: int | None = None) -> TaskSteps:
        """Return what users see of *stored* steps; longer results are cut."""
        steps = [_ended(n, record, result_bytes) for n, record in enumerate(stored.records, 1)]
        if stored.begun is not None:
            steps.append(_begun(len(steps) + 1, stored.begun))
        return cls(tuple(steps), tuple(stored.signals))

    def __iter__(self) -> Iterator[StepStatus]:
        return iter(self.steps)

    def __len__(self) -> int:
        return len(self.steps)


def _ended(number: int, record: StepRecord, result_bytes: int | None) -> StepStatus:
    result = record.data.decode(errors="replace")
    if result_bytes is not None and len(record.data) > result_bytes:
        result = record.data[:result_bytes].decode(errors="ignore") + "…"
    return StepStatus(
        number,
        record.name,
        record.kind,
        record.outcome,
        result,
        from_epoch_ms(record.ended_ms),
        duration=record.duration_us / 1e6,
        attempt=record.attempt,
    )


def _begun(number: int, begun: BegunStep) -> StepStatus:
    state: StepState = "sleeping" if begun.kind == "sleep" else "waiting"
    until = from_epoch_ms(begun.until_ms) if begun.until_ms < MAX_MS else None
    return StepStatus(number, begun.name, begun.kind, state, until=until)
