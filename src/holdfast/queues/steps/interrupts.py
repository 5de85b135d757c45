"""Exceptions that leave a task at a step. `except Exception` of the task does not catch them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from ...core.clock import MAX_MS, from_epoch_ms

_SHOWN: Final = 4
"""Steps before and after the first difference that `StepsChanged` names."""


class StepInterrupt(BaseException):
    """Base class of the exceptions that leave a task at a step.

    They are no `Exception`, because handlers such as `except Exception: refund()` are for errors of
    the task. Release resources with `finally` or `with`, and do not catch them.
    """


class TaskSuspended(StepInterrupt):
    """Raised by `sleep` and `wait_for`: the task is suspended, and runs again when it wakes.

    Attributes:
        kind: `sleep` or `wait`.
        state: `sleeping` or `waiting`.
        step: name of the step.
        until_ms: when it wakes at the latest (ms since 1970); `MAX_MS` for a wait without timeout.
    """

    def __init__(self, kind: str, step: str, until_ms: int) -> None:
        until = ""
        if 0 < until_ms < MAX_MS:
            until = f" until {from_epoch_ms(until_ms):%Y-%m-%d %H:%M:%S} UTC"
        self.state = "sleeping" if kind == "sleep" else "waiting"
        super().__init__(f"{self.state}: {step}{until}")
        self.kind = kind
        self.step = step
        self.until_ms = until_ms


class StepsChanged(StepInterrupt):
    """The code of a task asks for other steps than those that are stored. The attempt has failed.

    The task is retried, because a worker with other code may run it next. After its last attempt it
    is dead-lettered, and keeps its steps; see "Change the code of a running task" in the docs.

    Attributes:
        asked: the steps for which the code has asked, each as `kind name`.
        stored: the steps that are stored.
    """

    def __init__(self, task: str, asked: Sequence[str], stored: Sequence[str]) -> None:
        first = _first_difference(asked, stored)
        super().__init__(
            f"task {task!r} asks for other steps than are stored, from step {first + 1} on: "
            f"asked for {_shown(asked, first)}; stored {_shown(stored, first)}; deploy code that "
            "begins with the stored steps, and replay the task"
        )
        self.asked: tuple[str, ...] = tuple(asked)
        self.stored: tuple[str, ...] = tuple(stored)


class StepRefused(StepInterrupt):
    """A step that cannot be stored, however often it runs. The task is dead-lettered at once."""


class ClaimLost(StepInterrupt):
    """The worker does not hold the task any more: it was cancelled, or another worker has it."""

    def __init__(self) -> None:
        super().__init__("this worker does not hold the task any more")


def _first_difference(asked: Sequence[str], stored: Sequence[str]) -> int:
    pairs = zip(asked, stored, strict=False)
    shorter = min(len(asked), len(stored))
    return next((i for i, (mine, theirs) in enumerate(pairs) if mine != theirs), shorter)


def _shown(names: Sequence[str], first: int) -> str:
    """Return the names around position *first*; there may be a thousand."""
    begin, end = max(0, first - _SHOWN), first + _SHOWN
    before, after = "… " if begin else "", " …" if end < len(names) else ""
    return f"{before}{', '.join(names[begin:end]) or 'nothing'}{after}"
