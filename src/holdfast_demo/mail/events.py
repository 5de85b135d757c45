"""Events of Fake Game: each becomes a task of the example `mail.py`, which mails it."""

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
"""Ten minutes until a sale begins take a second."""

BATCH: Final = 250
"""Tasks that one call enqueues."""

RESETS_UNTIL: Final = 0.9
"""The last reset is enqueued when so many of the mails are sent: others are to be waiting then."""


@dataclass(frozen=True, slots=True)
class MarketEvent:
    """An event and the arguments of its task.

    Attributes:
        kind: the kind of event, which names the task too.
        task_id: the same in every run.
        delay_s: for a sale, the time from its announcement to its start: no mail before that.
    """

    kind: str
    task_id: str
    arguments: dict[str, Any]
    delay_s: float = 0.0

    @classmethod
    def parse(cls, line: str) -> Self:
        """Read one line."""
        fields = json.loads(line)
        kind, event_id = fields["event"], fields["id"]
        arguments = {name: fields[name] for name in ARGUMENTS[kind]}
        delay_s = _delay_s(fields) if kind == "sale" else 0.0
        return cls(kind, f"{kind}-{event_id}", arguments, delay_s)

    @property
    def mail_id(self) -> str:
        """Return the Message-ID that `mail.py` gives to the mail."""
        return f"{self.task_id}@fakegame.example"

    def call(self) -> Call[None]:
        """Return the call that mails this event, not before its time."""
        call = task_for(self.kind).call(**self.arguments)
        return call.options(task_id=self.task_id, delay=self.delay_s or None)


def _delay_s(sale: dict[str, str]) -> float:
    notice = datetime.fromisoformat(sale["starts_at"]) - datetime.fromisoformat(sale["at"])
    if notice < timedelta(0):
        raise ValueError("the sale starts before it was announced")
    return round(notice.total_seconds() / FAST_MOTION, 3)


def task_for(kind: str) -> Task[..., None]:
    """Return the task of `mail.py` that mails events of this kind."""
    task: Task[..., None] = getattr(example("fakegame/mail.py"), f"send_{kind}_email")
    return task


def priorities() -> dict[str, str]:
    """Return the priority of the tasks of each kind of event."""
    return {kind: task_for(kind).priority for kind in LABELS}


def example_folder() -> Path:
    """Return the folder of `mail.py` and `events.jsonl`."""
    return example_file("fakegame/mail.py").parent


def read_events(path: Path, count: int | None = None) -> list[MarketEvent]:
    """Return the first *count* events of a file, all of them without a count.

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
    """When the producer enqueued a mail, by its own clock.

    Attributes:
        number: how many it had enqueued before.
        called_at: the mail was not queued before this instant.
        returned_at: it was queued from this instant on, or waited for its time.
    """

    number: int
    called_at: float
    returned_at: float


class EventProducer:
    """Enqueues the mails of events, and notes when.

    A player forgets the password while others wait for their mails, not before. So a reset is
    enqueued when about as many mails are sent as there are events before it in the file. That
    depends on no clock: there are mails to overtake on fast machines and on slow ones.

    Args:
        hf: the client.
        events: events of which some may have been mailed by an earlier run:
        before: the Message-IDs of those.

    Attributes:
        enqueued: when each mail was enqueued, by Message-ID.
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
        """Return how many mails are not enqueued yet."""
        return len(self._market) + len(self._resets)

    def enqueue_batch(self) -> bool:
        """Enqueue the next batch of what is no reset; return whether there was one."""
        batch, self._market = self._market[:BATCH], self._market[BATCH:]
        if batch:
            self.enqueue(batch)
        return bool(batch)

    def enqueue_resets(self, sent: int, awaited: Container[str]) -> None:
        """Enqueue, one by one, the resets that come when so many mails are *sent*.

        Those that are not awaited any more were enqueued by an earlier run.
        """
        while self._resets and self._resets[0][0] <= sent:
            _, event = self._resets.popleft()
            if event.mail_id in awaited:
                self.enqueue([event])

    def enqueue(self, events: Sequence[MarketEvent]) -> None:
        """Enqueue these, and note when."""
        calls = [event.call() for event in events]
        called_at = time.time()
        retried(partial(self._hf.enqueue_many, calls))
        returned_at = time.time()
        for event in events:
            self.enqueued[event.mail_id] = Enqueued(len(self.enqueued), called_at, returned_at)
