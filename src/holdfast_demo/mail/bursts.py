"""The mails in the world demo: bursts of events, and a mail for each sale of the shop."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import count, islice
from typing import ClassVar, Final

from ..context import DemoContext
from ..demo import Demo, Invariant, ProcessFault, until
from ..processes import ProcessGroup
from ..retries import retried
from ..shop import ShopDemo
from .checks import (
    copies_of,
    dead_with_a_reason,
    given_back,
    in_order,
    not_before_its_time,
    not_too_often,
    once_at_least,
)
from .events import EventProducer, MarketEvent, example_folder, priorities, read_events
from .order import judge
from .smtp_server import MaildirStore, SmtpServer

QUEUE: Final = "email"
WORKERS: Final = ("worker-1", "worker-2")
CONCURRENCY: Final = 4
LEASE_S: Final = 5.0
BURST: Final = 60
"""Number of mails that are enqueued together, so that some wait and their order can be checked."""

MOST_WAITING: Final = 10 * BURST
"""Number of waiting mails at which the next burst is delayed, for slow machines."""

EVERY_S: Final = 3.0
GARBLED_EVERY: Final = 5
"""Number of bursts after which a task is enqueued that cannot run."""

SALES_EVERY_S: Final = 0.5
SALES_AT_ONCE: Final = 100
DEAD_AT_MOST: Final = 1_000


class MailBurstsDemo(Demo):
    """Send a mail for each event, in bursts, and for each sale in the ledger of *shop*."""

    name: ClassVar = "mail"

    def __init__(self, shop: ShopDemo) -> None:
        self._shop = shop
        self._coming = _evening_after_evening(read_events(example_folder() / "events.jsonl"))
        self._events: list[MarketEvent] = []
        self._garbled: list[MarketEvent] = []
        self._bursts = 0
        self._next_burst_s = self._next_sales_s = 0.0

    def start(self, context: DemoContext) -> None:
        """Start the SMTP server and the workers."""
        folder = context.subfolder("mail")
        self._producer = EventProducer(context.hf)
        self._store = MaildirStore(folder / "maildir")
        self._server = self.opened.enter_context(SmtpServer(self._store))
        self._queue = context.hf.queue(QUEUE)
        command = ["holdfast", "worker", "mail:tasks", "--queue", QUEUE, "--quiet"]
        command += ["--concurrency", str(CONCURRENCY), "--lease", str(LEASE_S)]
        environment = context.environment(FAKEGAME_SMTP=self._server.address)
        commands = dict.fromkeys(WORKERS, command)
        self._workers = ProcessGroup(commands, environment, folder, folder=example_folder())
        self.opened.enter_context(self._workers)

    def poll(self) -> bool:
        self._workers.replace_dead()
        now_s = time.monotonic()
        waiting = len(self._events) - len(self._server.deliveries)
        if now_s >= self._next_burst_s and waiting < MOST_WAITING:
            self._next_burst_s = now_s + EVERY_S
            self._enqueue(list(islice(self._coming, BURST)))
            if self._bursts % GARBLED_EVERY == 0:
                self._enqueue_garbled()
            self._bursts += 1
        if now_s >= self._next_sales_s:
            self._next_sales_s = now_s + SALES_EVERY_S
            self._mail_sales()
        return True

    def line(self) -> str:
        return (
            f"{len(self._server.deliveries):,} of {len(self._events):,} mails sent, "
            f"{self._server.refused.mails:,} refused at first, "
            f"{self._workers.replaced} workers replaced"
        )

    def faults(self) -> Sequence[ProcessFault]:
        """Kill the workers while they send."""
        return [
            ProcessFault(name, partial(self._workers.kill, name), again=name == WORKERS[0])
            for name in WORKERS
        ]

    def pids(self) -> Mapping[str, int]:
        return self._workers.pids

    def finish(self) -> Iterator[None]:
        """Enqueue mails for the last sales, and wait until the workers have sent all mails."""
        while self._mail_sales():
            yield
        yield from until(self._all_sent, progress=lambda: len(self._server.deliveries))

    def invariants(self) -> Iterator[Invariant]:
        """Check the maildir, the dead-lettered tasks, the times and the order of the mails."""
        arrivals = self._server.deliveries + self._server.refusals
        mails = {event.task_id: event for event in self._events}
        # Expect a mail for each sale in the ledger, even if none was enqueued.
        sold = self._shop.shop.sold_in(self._shop.engine)
        mails |= {event.task_id: event for event in map(_sale_event, sold)}
        found = copies_of(mails.values(), self._store.message_ids())
        yield once_at_least(found, len(mails))
        dead = {task.task_id: task.reason for task in self._queue.dead(DEAD_AT_MOST)}
        yield dead_with_a_reason(self._garbled, dead)
        yield not_too_often(found, self._workers.replaced)
        yield not_before_its_time(mails.values(), arrivals)
        enqueued, returned = self._producer.enqueued, given_back(map(self._workers.log, WORKERS))
        yield in_order(judge(mails.values(), priorities(), enqueued, arrivals, returned))

    def _mail_sales(self) -> int:
        """Enqueue a mail for each sale in the ledger without a mail. Return the number of mails."""
        shop, engine = self._shop.shop, self._shop.engine
        sales = shop.without_mail(engine, SALES_AT_ONCE)
        if sales:
            self._enqueue([_sale_event(sale.id) for sale in sales])
            shop.mark_mailed(engine, sales)
        return len(sales)

    def _enqueue(self, events: list[MarketEvent]) -> None:
        self._producer.enqueue(events)
        self._events += events

    def _enqueue_garbled(self) -> None:
        """Enqueue a task that cannot run, because it has no address."""
        arguments = {"email": None, "player": "unknown", "code": "000000"}
        event = MarketEvent("reset", f"garbled-{self._bursts}", arguments)
        self._producer.enqueue([event])
        self._garbled.append(event)

    def _all_sent(self) -> bool:
        self._workers.replace_dead()
        stats = retried(self._queue.stats)
        return not stats.ready + stats.delayed + stats.running


def _evening_after_evening(events: Sequence[MarketEvent]) -> Iterator[MarketEvent]:
    """Yield the events again and again, each time with new task ids."""
    for evening in count(1):
        for event in events:
            yield replace(event, task_id=f"{event.task_id}-{evening}")


def _sale_event(number: int) -> MarketEvent:
    """Return the event for the sale with this number in the shop."""
    buyer = f"buyer{number % 700}"
    arguments = {
        "email": f"{buyer}@players.example", "seller": "Fake Web Retailer", "buyer": buyer,
        "item": f"sale {number}", "price": 1,
    }  # fmt: skip
    return MarketEvent("sold", f"shop-{number}", arguments)
