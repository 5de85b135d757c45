"""The mail as a part of the world: of the evening's events, and of what the shop has sold."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import count, islice
from typing import Any, ClassVar, Final

from ..crew import Crew
from ..examples import load_example
from ..patience import insist
from ..world.ground import NAMESPACE, Ground
from ..world.part import Fault, Part, Verdict, until
from .events import LABELS, Event, example_folder, read_events, task_for
from .given_back import given_back
from .maildir import MailStore
from .order import judge
from .producer import Producer
from .report import check, punctuality
from .smtp import MailServer
from .verdicts import (
    dead_with_a_reason,
    in_order,
    not_before_its_time,
    not_too_often,
    once_at_least,
)

QUEUE: Final = "email"
WORKERS: Final = ("worker-1", "worker-2")
CONCURRENCY: Final = 4
LEASE_S: Final = 5.0
BURST: Final = 60
"""Mails at once: then there is a line, and an order in it to be kept."""

LINE: Final = 10 * BURST
"""On a machine that sends no faster, the next burst waits while so many mails do."""

EVERY_S: Final = 3.0
GARBLED_EVERY: Final = 5
"""With so many bursts comes a task that cannot run."""

TELL_EVERY_S: Final = 0.5
TOLD_AT_ONCE: Final = 100
DEAD_AT_MOST: Final = 1_000


class Post(Part):
    """Workers mail what comes up.

    Args:
        ground: where.
        shop: the module `shop` of the example, with its ledger.
        engine: of the shop's database.
    """

    name: ClassVar = "mail"

    def __init__(self, ground: Ground, shop: Any, engine: Any) -> None:
        super().__init__()
        self._ground = ground
        self._shop = shop
        self._engine = engine
        example = example_folder()
        module = self._module = load_example(example / "mail.py")
        self._coming = _evening_after_evening(read_events(example / "events.jsonl"))
        self._events: list[Event] = []
        self._garbled: list[Event] = []
        self._bursts = 0
        self._producer = Producer(ground.hf, [], module, set())
        self._priorities = {kind: task_for(kind, module).priority for kind in LABELS}
        room = ground.room("mail")
        self._store = MailStore(room / "maildir")
        self._server = MailServer(self._store)
        self._queue = ground.hf.queue(QUEUE)
        self._example = example
        self._next_burst_s = self._next_tell_s = 0.0

    def begin(self) -> None:
        """Open the post office."""
        self.opened.enter_context(self._server)
        arguments = ["worker", "mail:tasks", "--namespace", NAMESPACE, "--queue", QUEUE]
        arguments += ["--concurrency", str(CONCURRENCY), "--lease", str(LEASE_S), "--quiet"]
        self._crew = Crew(
            {name: ["holdfast", *arguments] for name in WORKERS},
            self._ground.environment(FAKEGAME_SMTP=self._server.address),
            self._ground.room("mail"),
            folder=self._example,
        )
        self.opened.enter_context(self._crew)

    def look(self) -> None:
        """Put mails in line."""
        self._crew.mend()
        now_s = time.monotonic()
        waiting = len(self._events) - len(self._server.deliveries)
        if now_s >= self._next_burst_s and waiting < LINE:
            self._next_burst_s = now_s + EVERY_S
            self._enqueue(list(islice(self._coming, BURST)))
            if self._bursts % GARBLED_EVERY == 0:
                self._enqueue_garbled()
            self._bursts += 1
        if now_s >= self._next_tell_s:
            self._next_tell_s = now_s + TELL_EVERY_S
            self._tell_of_sales()

    def told(self) -> str:
        """Mails sent, and those to come."""
        sent = len(self._server.deliveries)
        refused = self._server.refused
        return (
            f"{sent:,} of {len(self._events):,} mails sent, {refused.mails:,} refused at first, "
            f"{self._crew.replaced} workers replaced"
        )

    def faults(self) -> Sequence[Fault]:
        """A worker is killed in the midst of its mails."""
        return [
            Fault(name, partial(self._crew.kill, name), again=name == WORKERS[0])
            for name in WORKERS
        ]

    def pids(self) -> Mapping[str, int]:
        """Its processes at the moment, by name."""
        return self._crew.pids

    def finish(self) -> Iterator[None]:
        """Tell of the last sales, and let the workers send what is in line."""
        while self._tell_of_sales():
            yield
        yield from until(self._all_sent, moved=lambda: len(self._server.deliveries))

    def verdicts(self) -> Iterator[Verdict]:
        """From the maildir, the mail server's records, and the shop's ledger."""
        arrivals = self._server.deliveries + self._server.refusals
        mails = {event.task_id: event for event in self._events}
        # What the ledger has, must be there, whatever we think that we were told of.
        mails |= {event.task_id: event for event in map(_of_sale, self._shop.sold_in(self._engine))}
        found = check(mails.values(), self._store.message_ids())
        yield once_at_least(found, len(mails))
        dead = {task.task_id: task.reason for task in self._queue.dead(DEAD_AT_MOST)}
        yield dead_with_a_reason(self._garbled, dead)
        yield not_too_often(found, self._crew.replaced)
        yield not_before_its_time(punctuality(mails.values(), arrivals))
        places = self._producer.places
        returned = given_back(map(self._crew.log, WORKERS))
        yield in_order(judge(mails.values(), self._priorities, places, arrivals, returned))

    def _tell_of_sales(self) -> int:
        """Have buyers told of what the ledger says and nobody told; how many that were."""
        sales = self._shop.untold(self._engine, TOLD_AT_ONCE)
        if sales:
            self._enqueue([_of_sale(sale.id) for sale in sales])
            self._shop.told(self._engine, sales)
        return len(sales)

    def _enqueue(self, events: list[Event]) -> None:
        self._producer.enqueue(events)
        self._events += events

    def _enqueue_garbled(self) -> None:
        """Somebody forgot the address."""
        told = {"email": None, "player": "nobody", "code": "000000"}
        event = Event("reset", f"garbled-{self._bursts}", told)
        insist(partial(self._ground.hf.enqueue, event.call(self._module)))
        self._garbled.append(event)

    def _all_sent(self) -> bool:
        self._crew.mend()
        stats = insist(self._queue.stats)
        return not stats.ready + stats.delayed + stats.running


def _evening_after_evening(events: Sequence[Event]) -> Iterator[Event]:
    """The events, again and again, each evening under names of its own."""
    for evening in count(1):
        for event in events:
            yield replace(event, task_id=f"{event.task_id}-{evening}")


def _of_sale(number: int) -> Event:
    """The mail about a sale of the shop."""
    buyer = f"buyer{number % 700}"
    told = {"email": f"{buyer}@players.example", "seller": "Fake Web Retailer", "buyer": buyer}
    return Event("sold", f"shop-{number}", {**told, "item": f"sale {number}", "price": 1})
