"""Puts the mails in line: the evening's market at once, the password resets as it goes on.

A player forgets the password while others wait for their mails, not before. So a reset is enqueued
when about as many mails are sent as there are events before it in the file. That depends on no
clock: there is a line to overtake on fast machines and on slow ones.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Container, Iterator, Sequence
from functools import partial
from types import ModuleType

from .... import Holdfast
from ..patience import insist
from .events import Event
from .order import Place

BATCH = 250  # tasks enqueued between two looks at the screen
RESETS_UNTIL = 0.9  # the last reset comes when so much is sent: it shall find a line, too


class Producer:
    """Enqueues those of *events* whose mails are not in *before*.

    Attributes:
        places: by Message-ID, where each mail was put in line.
    """

    def __init__(
        self, hf: Holdfast, events: Sequence[Event], example: ModuleType, before: set[str]
    ) -> None:
        self.places: dict[str, Place] = {}
        self._hf = hf
        self._example = example
        todo = [(i, event) for i, event in enumerate(events) if event.mail_id not in before]
        self._market = [event for _, event in todo if event.kind != "reset"]
        self._resets = deque(
            (int(i * RESETS_UNTIL), event) for i, event in todo if event.kind == "reset"
        )

    @property
    def coming(self) -> int:
        """How many resets are not in line yet."""
        return len(self._resets)

    def enqueue_market(self) -> Iterator[int]:
        """Enqueue all but the resets, batch by batch; yields how many are in line."""
        for start in range(0, len(self._market), BATCH):
            self.enqueue(self._market[start : start + BATCH])
            yield len(self.places)

    def enqueue_resets(self, sent: int, awaited: Container[str]) -> None:
        """Enqueue, one by one, the resets whose turn it is now that so many mails are sent.

        Those that are not awaited any more were in line already, put there by an earlier run.
        """
        while self._resets and self._resets[0][0] <= sent:
            _, event = self._resets.popleft()
            if event.mail_id in awaited:
                self.enqueue([event])

    def enqueue(self, events: Sequence[Event]) -> None:
        """Enqueue these, whatever becomes of the others, and note their places."""
        calls = [event.call(self._example) for event in events]
        called_at = time.time()
        insist(partial(self._hf.enqueue_many, calls))
        returned_at = time.time()
        for event in events:
            self.places[event.mail_id] = Place(len(self.places), called_at, returned_at)
