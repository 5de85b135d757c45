"""Read events of Fake Game, and enqueue a task of the example `mail.py` for each."""

from __future__ import annotations

import json
import time
from collections import deque
from collections.abc import Container, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any, Final, Self

from holdfast import Call, Holdfast, Task

from ..example_files import example, example_file
from ..retries import retried

ARGUMENTS: Final = {  # in the order of their priority
    "reset": ("email", "player", "code"),
    "sale": ("email", "player", "seller", "item", "price"),
    "sold": ("email", "seller", "item", "price", "buyer"),
    "expired": ("email", "seller", "item", "price"),
}
LABELS: Final = {
    "reset": "password reset", "sale": "sale begins", "sold": "sold", "expired": "expired",
}  # fmt: skip
FAST_MOTION: Final = 600
"""Factor by which times are shortened: ten minutes in the events are one second."""

BATCH: Final = 250
"""Number of tasks that one call enqueues."""

RESETS_UNTIL: Final = 0.9
"""Fraction of the mails after which the last reset is enqueued, so that other mails still wait."""


@dataclass(frozen=True, slots=True)
class MarketEvent:
    """Hold an event and the arguments of its task.

    Attributes:
        kind: kind of the event: `reset`, `sale`, `sold` or `expired`.
        task_id: id of the task, the same in each run.
        arguments: arguments of the task.
        delay_s: for a sale, seconds from its announcement to its start, before which no mail may be
            sent.
    """

    kind: str
    task_id: str
    arguments: dict[str, Any]
    delay_s: float = 0.0

    @classmethod
    def parse(cls, line: str) -> Self:
        """Parse one JSON line of the event file and return the event."""
        fields = json.loads(line)
        kind, event_id = fields["event"], fields["id"]
        arguments = {name: fields[name] for name in ARGUMENTS[kind]}
        delay_s = _delay_s(fields) if kind == "sale" else 0.0
        return cls(kind, f"{kind}-{event_id}", arguments, delay_s)

    @property
    def mail_id(self) -> str:
        """Return the Message-ID of the event's mail."""
        return f"{self.task_id}@fakegame.example"

    def call(self) -> Call[None]:
        """Return the task call that sends the mail of this event, after its delay."""
        call = task_for(self.kind).call(**self.arguments)
        return call.options(task_id=self.task_id, delay=self.delay_s or None)


def _delay_s(sale: dict[str, str]) -> float:
    notice = datetime.fromisoformat(sale["starts_at"]) - datetime.fromisoformat(sale["at"])
    if notice < timedelta(0):
        raise ValueError("the sale starts before it was announced")
    return round(notice.total_seconds() / FAST_MOTION, 3)


def task_for(kind: str) -> Task[..., None]:
    """Return the task that sends mails for events of this kind."""
    task: Task[..., None] = getattr(example("fakegame/mail.py"), f"send_{kind}_email")
    return task


def priorities() -> dict[str, str]:
    """Return kind of event → priority of its task."""
    return {kind: task_for(kind).priority for kind in LABELS}


def example_folder() -> Path:
    """Return the folder with `mail.py` and `events.jsonl`."""
    return example_file("fakegame/mail.py").parent


def read_events(path: Path, count: int | None = None) -> list[MarketEvent]:
    """Return the first *count* events of a file; None: all.

    Raises:
        OSError: the file cannot be read.
        ValueError: a line is not an event; the message names the file and the line.
    """
    with path.open(encoding="utf-8") as lines:
        return list(_events(path, islice(lines, count)))


def _events(path: Path, lines: Iterable[str]) -> Iterator[MarketEvent]:
    for number, line in enumerate(lines, 1):
        try:
            yield MarketEvent.parse(line)
        except (KeyError, TypeError, ValueError) as error:
            raise ValueError(f"{path}, line {number} is not a market event: {error!r}") from error


@dataclass(frozen=True, slots=True)
class Enqueued:
    """Record when the producer enqueued a mail, by the producer's clock (epoch seconds).

    Attributes:
        number: number of mails that were enqueued before.
        called_at: just before the call that enqueued the mail.
        returned_at: just after this call.
    """

    number: int
    called_at: float
    returned_at: float


class EventProducer:
    """Enqueue the tasks for events, and record when.

    A password reset is enqueued when about as many mails were sent as there are events before it in
    the file. So a reset overtakes waiting mails on fast machines and on slow ones.

    Args:
        hf: the client.
        events: the events.
        before: Message-IDs of mails that an earlier run has sent.

    Attributes:
        enqueued: Message-ID → when the mail was enqueued.
    """

    def __init__(
        self, hf: Holdfast, events: Sequence[MarketEvent] = (), before: Container[str] = ()
    ) -> None:
        self.enqueued: dict[str, Enqueued] = {}
        self._hf = hf
        todo = [(i, event) for i, event in enumerate(events) if event.mail_id not in before]
        self._market = [event for _, event in todo if event.kind != "reset"]
        self._resets = deque(
            (int(i * RESETS_UNTIL), event) for i, event in todo if event.kind == "reset"
        )

    @property
    def coming(self) -> int:
        """Return the number of mails that are not enqueued yet."""
        return len(self._market) + len(self._resets)

    def enqueue_batch(self) -> bool:
        """Enqueue the next batch of events that are not resets. Return False if there is none."""
        batch, self._market = self._market[:BATCH], self._market[BATCH:]
        if batch:
            self.enqueue(batch)
        return bool(batch)

    def enqueue_resets(self, sent: int, awaited: Container[str]) -> None:
        """Enqueue, one by one, the password resets that are due after *sent* mails.

        Skip those with a Message-ID that is not in *awaited*: their mails were sent already.
        """
        while self._resets and self._resets[0][0] <= sent:
            _, event = self._resets.popleft()
            if event.mail_id in awaited:
                self.enqueue([event])

    def enqueue(self, events: Sequence[MarketEvent]) -> None:
        """Enqueue *events* in one call, and record when."""
        calls = [event.call() for event in events]
        called_at = time.time()
        retried(partial(self._hf.enqueue_many, calls))
        returned_at = time.time()
        for event in events:
            self.enqueued[event.mail_id] = Enqueued(len(self.enqueued), called_at, returned_at)
