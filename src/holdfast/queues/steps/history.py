"""Compare the steps that a run of a task requests with the stored ones."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from .interrupts import StepRefused, StepsChanged
from .step_record import MOST_STEPS, BegunStep, Kind, StepRecord


class StepHistory:
    """Compares the steps of one run with the stored ones, one after the other.

    Args:
        task: name of the task, for errors.
        records: the steps that have ended.
        begun: the sleep or the wait that has begun.

    Attributes:
        failure: the record of the last step, if its function raised. It is stored only if the task
            catches the exception and asks for another step. Otherwise the step runs again.
    """

    def __init__(self, task: str, records: Sequence[StepRecord], begun: BegunStep | None) -> None:
        self._task = task
        self._records = records
        self._stored = [record.label for record in records] + ([begun.label] if begun else [])
        self._asked: list[str] = []
        self._names = Counter[str]()
        self.failure: StepRecord | None = None

    def __len__(self) -> int:
        """Return the number of steps that this run has requested."""
        return len(self._asked)

    def ask(self, kind: Kind, name: str) -> tuple[str, StepRecord | None]:
        """Return the numbered name of the next step, and its record if it has ended before.

        Raises:
            StepsChanged: another step is stored in its place.
            StepRefused: the task has as many steps as allowed.
        """
        self._names[name] += 1
        number = self._names[name]
        numbered = name if number == 1 else f"{name}#{number}"
        position = len(self._asked)
        self._asked.append(f"{kind} {numbered}")
        if position < len(self._stored) and self._stored[position] != self._asked[position]:
            raise StepsChanged(self._task, self._asked, self._stored)
        if position >= MOST_STEPS:
            raise StepRefused(
                f"task {self._task!r} asks for more than {MOST_STEPS:,} steps: do more in each "
                "step, or enqueue another task that continues"
            )
        return numbered, self._records[position] if position < len(self._records) else None

    def check_end(self) -> None:
        """Check that a run that returns has requested all stored steps.

        Raises:
            StepsChanged: the run has not requested some of them.
        """
        if len(self._asked) < len(self._stored):
            raise StepsChanged(self._task, self._asked, self._stored)
