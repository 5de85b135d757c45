"""One run of the mail demo: enqueue a mail for every event, watch the workers, check.

The mailing outlives this process. Task ids follow from the events, so an event is enqueued again
only if neither the maildir has its mail nor the queue its task. What a killed run left in the queue
is worked off by the next one, as soon as the leases of the dead workers have run out.
"""

from __future__ import annotations

import os
import secrets
import time
from collections import Counter
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from .... import Holdfast
from ...connection import connected
from ..crew import Crew
from ..examples import load_example
from ..patience import insist
from .events import LABELS, Event, task_for
from .given_back import given_back
from .maildir import MailStore
from .order import judge
from .producer import Producer
from .report import Check, Report, Span, check, figures_by_kind, punctuality
from .screen import Progress, ProgressScreen
from .smtp import Delivery, MailServer

NAMESPACE = "fakegame"
QUEUE = "email"
TICK_S = 0.125
LEASE_S = 10.0  # short: who kills a worker wants to see its mails run again
STALL_S = 60.0  # without any change; longer than a lease and any wait between two attempts
DEAD_LIMIT = 1000  # as many as one call lists or replays


@dataclass(frozen=True, slots=True)
class Plan:
    """What to do; see the options of the command.

    Attributes:
        folder: of the maildir, the logs and, without *url*, the embedded server.
        url: of the user's Valkey or Redis.
        smtp: address of the user's SMTP server; without one the demo brings its own.
    """

    events: list[Event]
    example: Path
    folder: Path
    workers: int
    concurrency: int
    url: str | None = None
    smtp: str | None = None

    @property
    def embedded(self) -> Path | None:
        """The folder of the embedded server, if that is the one."""
        return None if self.url else self.folder


def run(plan: Plan, screen: ProgressScreen) -> Report:
    """Mail every event and report on it.

    Raises:
        WorkersFailed: the workers keep dying.
        typer.Exit: the queue's server cannot be started or reached; that was said already.
    """
    with ExitStack() as stack:
        # On a server that others use too, every run keeps to a namespace of its own.
        namespace = f"{NAMESPACE}-{secrets.token_hex(4)}" if plan.url else NAMESPACE
        hf = stack.enter_context(connected(plan.url, plan.embedded, namespace))
        store = server = None
        if plan.smtp is None:
            store = MailStore(plan.folder / "maildir")
            server = stack.enter_context(MailServer(store))
        command = worker_command(plan, namespace)
        crew = Crew(
            {f"worker-{number}": command for number in range(1, plan.workers + 1)},
            worker_environment(plan, server.address if server else plan.smtp or ""),
            plan.folder,
            folder=plan.example,
        )
        mailing = Mailing(plan, hf, crew, screen, store, server)
        hf.queue(QUEUE).replay()  # what earlier runs gave up; fails at once if the server is away
        with crew, screen:
            mailing.work()
        return mailing.report()


def worker_command(plan: Plan, namespace: str) -> list[str]:
    """The command line of a worker, after `python -m`."""
    where = ["--embedded", str(plan.embedded)] if plan.embedded else []
    how = ["--concurrency", str(plan.concurrency), "--lease", str(LEASE_S)]
    whose = ["--namespace", namespace, "--queue", QUEUE]
    return ["holdfast", "worker", "mail:tasks", *where, *whose, *how]


def worker_environment(plan: Plan, smtp: str) -> dict[str, str]:
    """The environment of a worker; a URL goes this way, for it may hold a password."""
    environment = {name: value for name, value in os.environ.items() if name != "HOLDFAST_URL"}
    if plan.url:
        environment["HOLDFAST_URL"] = plan.url
    return environment | {"FAKEGAME_SMTP": smtp}


class Mailing:
    """The mails of one run, from the first enqueue to the verdict."""

    def __init__(
        self,
        plan: Plan,
        hf: Holdfast,
        crew: Crew,
        screen: ProgressScreen,
        store: MailStore | None,
        server: MailServer | None,
    ) -> None:
        self._plan = plan
        self._hf = hf
        self._queue = hf.queue(QUEUE)
        self._crew = crew
        self._screen = screen
        self._store = store
        self._server = server
        wanted = {event.mail_id for event in plan.events}
        self._before = wanted.intersection(store.message_ids() if store else ())
        self._awaited = wanted - self._before
        example = load_example(plan.example / "mail.py")
        self._producer = Producer(hf, plan.events, example, self._before)
        self._kind_of = {event.mail_id: event.kind for event in plan.events}
        self._kinds = Counter(event.kind for event in plan.events)
        self._priorities = {
            kind: task_for(kind, example).priority for kind in LABELS if self._kinds[kind]
        }
        self._deliveries_seen = 0
        self._began_at = self._ended_at = time.time()

    def work(self) -> None:
        """Enqueue what was not sent before, and wait until nothing is left to do."""
        self._began_at = time.time()
        for _ in self._producer.enqueue_market():
            self._screen.show(self._progress())
        self._watch()
        self._ended_at = time.time()

    def report(self) -> Report:
        """What came of it; asks the maildir, not the memory of this process."""
        events = self._plan.events
        state = self._progress()
        dead = {task.task_id: task.reason for task in insist(lambda: self._queue.dead(DEAD_LIMIT))}
        found = self._check(dead)
        missing = set(found.missing)
        deliveries = self._deliveries()
        arrivals = deliveries + (self._server.refusals if self._server else [])
        ended_at = max((mail.answered_at for mail in deliveries), default=self._ended_at)
        span = Span(self._began_at, ended_at)
        returned = given_back(map(self._crew.log, self._crew.commands))
        return Report(
            kinds=figures_by_kind(events, self._priorities, missing, deliveries, span),
            seconds=span.seconds,
            sent_before=len(self._before),
            sent_now=len(events) - len(missing) - len(self._before),
            refused=state.refused,
            workers_replaced=self._crew.replaced,
            order=judge(events, self._priorities, self._producer.places, arrivals, returned),
            punctuality=punctuality(events, arrivals),
            unfinished=state.unsettled,
            missing=found.missing,
            twice=found.twice,
            dead_in_all=state.dead,
            dead=dead,
            maildir=str(self._store.folder) if self._store else None,
        )

    def _watch(self) -> None:
        last, changed_s = None, time.monotonic()
        stall_s = STALL_S + max((event.delay_s for event in self._plan.events), default=0.0)
        while (progress := self._progress()).unsettled or self._producer.coming:
            self._screen.show(progress)
            self._crew.mend()
            self._producer.enqueue_resets(progress.sent, self._awaited)
            if progress != last:
                last, changed_s = progress, time.monotonic()
            elif time.monotonic() - changed_s > stall_s:
                break  # the check will say what is missing
            if not progress.unsettled:  # then no more will be sent: what has not come, comes now
                self._producer.enqueue_resets(len(self._plan.events), self._awaited)
            time.sleep(TICK_S)
        self._screen.show(progress)

    def _progress(self) -> Progress:
        stats = insist(self._queue.stats)
        for mail in islice(self._deliveries(), self._deliveries_seen, None):
            self._awaited.discard(mail.mail_id)
            self._deliveries_seen += 1
        events = len(self._plan.events)
        enqueued = len(self._before) + len(self._producer.places)
        sent = events - len(self._awaited)
        kinds = self._kinds_sent()
        if self._server is None:  # then a task that is neither here nor dead is done
            unsent = stats.ready + stats.delayed + stats.running + stats.dead
            sent, kinds = max(0, enqueued - unsent), {}
        return Progress(
            events=events,
            enqueued=enqueued,
            sent=sent,
            kinds=kinds,
            ready=stats.ready,
            delayed=stats.delayed,
            running=stats.running,
            dead=stats.dead,
            refused=self._server.refused if self._server else None,
            workers=tuple(self._crew.pids.values()),
            replaced=self._crew.replaced,
        )

    def _kinds_sent(self) -> dict[str, tuple[int, int]]:
        awaited = Counter(self._kind_of[mail_id] for mail_id in self._awaited)
        totals = {kind: self._kinds[kind] for kind in self._priorities}
        return {kind: (total - awaited[kind], total) for kind, total in totals.items()}

    def _deliveries(self) -> list[Delivery]:
        return self._server.deliveries if self._server else []

    def _check(self, dead: dict[str, str]) -> Check:
        if self._store:
            return check(self._plan.events, self._store.message_ids())
        # Another's server keeps its mails to itself: believe the queue.
        given_up = [event.task_id for event in self._plan.events if event.task_id in dead]
        return Check(missing=given_up, twice=[])
