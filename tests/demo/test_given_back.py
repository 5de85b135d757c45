"""Test tasks that a worker gives back, and how the demo judges their order."""

from __future__ import annotations

import logging
import secrets
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from faults.proxy import Proxy
from faults.servers import Server
from faults.waiting import eventually
from holdfast import Holdfast, TaskRegistry, current_task
from holdfast.cli.log_output import LineFormatter
from holdfast_demo.mail.checks import given_back
from holdfast_demo.mail.events import Enqueued, MarketEvent
from holdfast_demo.mail.order import judge
from holdfast_demo.mail.smtp_server import MailArrival

HELD, BEHIND = "sold-1", "sold-2"


@pytest.fixture
def log(tmp_path: Path) -> Iterator[Path]:
    """Yield the log file of a worker with `--quiet`."""
    path = tmp_path / "worker.log"
    logger = logging.getLogger("holdfast.worker")
    with path.open("w", encoding="utf-8") as file:
        handler = logging.StreamHandler(file)
        handler.setLevel(logging.WARNING)
        handler.setFormatter(LineFormatter("%(asctime)s %(levelname)s %(message)s"))
        logger.addHandler(handler)
        yield path
        logger.removeHandler(handler)


def test_a_mail_that_lost_its_lease_in_an_outage_did_not_wait(
    standalone: Server, proxy: Proxy, log: Path
) -> None:
    """Find its first claim in the worker's log, because it left no mail."""
    arrivals: list[MailArrival] = []
    holding, may_end = threading.Event(), threading.Event()
    tasks = TaskRegistry()

    def mailed() -> None:
        me, now = current_task(), time.time()
        enqueued_s = me.enqueued_at.timestamp() if me.enqueued_at else now
        mail_id = MarketEvent("sold", me.task_id, {}).mail_id
        arrivals.append(MailArrival(mail_id, me.attempt, me.token, enqueued_s, now, now))

    @tasks.task(queue="email")
    def hold() -> None:
        holding.set()
        try:
            while not may_end.is_set():
                time.sleep(0.01)  # where it is interrupted, once its lease is lost
        finally:
            holding.clear()
        mailed()

    @tasks.task(queue="email")
    def pass_by() -> None:
        mailed()

    space = secrets.token_hex(4)
    with (
        Holdfast.from_url(standalone.url, namespace=space) as hf,
        Holdfast.from_url(f"{proxy.url}?socket_timeout=1", namespace=space) as beyond,
    ):
        called_at = time.time()
        calls = [hold.call().options(task_id=HELD), pass_by.call().options(task_id=BEHIND)]
        hf.enqueue_many(calls)
        returned_at = time.time()
        worker = beyond.worker(tasks, concurrency=2, lease=1.0)
        serving = threading.Thread(target=worker.run)
        serving.start()
        try:
            eventually(lambda: holding.is_set() and arrivals)
            with proxy.refuse():
                eventually(lambda: HELD in given_back([log.read_text()]) and not holding.is_set())
                may_end.set()
            eventually(lambda: any(HELD in mail.mail_id for mail in arrivals))
        finally:
            may_end.set()
            worker.stop()
            serving.join()
    assert {mail.attempt for mail in arrivals} == {1}

    events = [MarketEvent("sold", HELD, {}), MarketEvent("sold", BEHIND, {})]
    priorities = {"sold": "medium"}
    enqueued = {
        event.mail_id: Enqueued(number, called_at, returned_at)
        for number, event in enumerate(events)
    }
    assert BEHIND in judge(events, priorities, enqueued, arrivals).out_of_turn
    assert judge(events, priorities, enqueued, arrivals, given_back([log.read_text()])).kept


@pytest.mark.parametrize(
    "shown",
    [
        "task sold-7 of the queue 'email' lost its lease, or was cancelled: it is stopped",
        "task sold-7 of the queue 'email' is given back: its slot was taken",
        "task sold-7 did not end in time, given back",
    ],
)
def test_the_log_names_what_was_given_back(log: Path, shown: str) -> None:
    """Ignore log lines about other tasks."""
    logger = logging.getLogger("holdfast.worker")
    logger.warning("task sold-8 (mail) of queue email, attempt 1, 0.010 s: failed: OSError: away")
    logger.warning("task sold-9 of the queue 'email' is taken over: 1 workers vanished")
    logger.warning("%s", shown)
    assert given_back([log.read_text()]) == {"sold-7"}
