"""Fake Game's events, and the tasks of the example `mail.py` that they become."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import islice
from pathlib import Path
from types import ModuleType
from typing import Any, Self

from .... import Call, Task
from ..examples import example_file

ARGUMENTS = {  # who goes first stands first
    "reset": ("email", "player", "code"),
    "sale": ("email", "player", "seller", "item", "price"),
    "sold": ("email", "seller", "item", "price", "buyer"),
    "expired": ("email", "seller", "item", "price"),
}
LABELS = {"reset": "password reset", "sale": "sale begins", "sold": "sold", "expired": "expired"}
FAST_MOTION = 600  # ten minutes until a sale begins take a second


@dataclass(frozen=True, slots=True)
class Event:
    """What happened, and what its task is told about it.

    Attributes:
        kind: names the task as well.
        delay_s: for a sale, the time from its announcement to its start: no mail before that.
    """

    kind: str
    task_id: str
    arguments: dict[str, Any]
    delay_s: float = 0.0

    @classmethod
    def parse(cls, line: str) -> Self:
        """Read one line; the same event has the same task id in every run."""
        fields = json.loads(line)
        kind, event_id = fields["event"], fields["id"]
        arguments = {name: fields[name] for name in ARGUMENTS[kind]}
        delay_s = _delay_s(fields) if kind == "sale" else 0.0
        return cls(kind, f"{kind}-{event_id}", arguments, delay_s)

    @property
    def mail_id(self) -> str:
        """The Message-ID that `mail.py` gives to this event's mail."""
        return f"{self.task_id}@fakegame.example"

    def call(self, example: ModuleType) -> Call[None]:
        """The call that mails this event, not before its time."""
        call = task_for(self.kind, example).call(**self.arguments)
        return call.options(task_id=self.task_id, delay=self.delay_s or None)


def task_for(kind: str, example: ModuleType) -> Task[..., None]:
    """The task of `mail.py` that mails events of this kind."""
    task: Task[..., None] = getattr(example, f"send_{kind}_email")
    return task


def _delay_s(sale: dict[str, str]) -> float:
    notice = datetime.fromisoformat(sale["starts_at"]) - datetime.fromisoformat(sale["at"])
    if notice < timedelta(0):
        raise ValueError("the sale starts before it was announced")
    return round(notice.total_seconds() / FAST_MOTION, 3)


def read_events(path: Path, count: int | None = None) -> list[Event]:
    """The first *count* events of a file, all of them without a count.

    Raises:
        OSError: the file cannot be read.
        ValueError: a line is not an event; the message names the file and the line.
    """
    with path.open(encoding="utf-8") as lines:
        return list(_events(path, islice(lines, count)))


def _events(path: Path, lines: Iterator[str]) -> Iterator[Event]:
    for number, line in enumerate(lines, 1):
        try:
            yield Event.parse(line)
        except (KeyError, TypeError, ValueError) as error:
            raise ValueError(f"{path}, line {number} is not a market event: {error!r}") from error


def example_folder() -> Path:
    """Where `mail.py` and `events.jsonl` lie.

    Raises:
        FileNotFoundError: the examples were not installed; the message says where they should be.
    """
    return example_file("fakegame/mail.py").parent
