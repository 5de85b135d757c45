"""Test `holdfast demo mail`: every event gets its mail in turn, whatever is killed."""

import contextlib
import json
import os
import signal
import smtplib
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import replace
from email.message import EmailMessage
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from cli.programs import holdfast
from holdfast.server import status
from holdfast_demo.mail.checks import (
    MailHistory,
    copies_of,
    not_before_its_time,
)
from holdfast_demo.mail.events import Enqueued, MarketEvent, example_folder, read_events
from holdfast_demo.mail.order import ClaimOrder, OvertakenMails, judge
from holdfast_demo.mail.smtp_server import (
    MailArrival,
    MaildirStore,
    SmtpFaults,
    SmtpRefusals,
    SmtpServer,
)

DEADLINE_S = 90.0
EVENTS = 100


def command(*arguments: object) -> list[str]:
    return [sys.executable, "-m", "holdfast", "demo", "mail", *map(str, arguments)]


def demo(*arguments: object) -> "subprocess.CompletedProcess[str]":
    return holdfast("demo", "mail", *map(str, arguments), patience_s=DEADLINE_S)


@contextlib.contextmanager
def running_demo(*arguments: object) -> Iterator["subprocess.Popen[str]"]:
    """Run a demo and its workers in a process group; kill it at the end of the block."""
    process = subprocess.Popen(
        command(*arguments, "--json"),
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        start_new_session=True,
    )
    try:
        yield process
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.communicate()


def wait_for_mails(folder: Path, count: int) -> None:
    deadline_s = time.monotonic() + DEADLINE_S
    while len(list(folder.glob("maildir/new/*"))) < count:
        assert time.monotonic() < deadline_s, f"no {count} mails in {folder}"
        time.sleep(0.002)


def test_every_event_gets_its_mail_in_its_turn(tmp_path: Path) -> None:
    """Send each mail once; resets first, sales when they begin, in a proven order."""
    done = demo("--count", EVENTS, "--concurrency", 4, "--embedded", tmp_path, "--json")

    assert done.returncode == 0, done.stdout + done.stderr
    report = json.loads(done.stdout)
    expected = Counter(e.mail_id for e in read_events(example_folder() / "events.jsonl", EVENTS))
    assert MaildirStore(tmp_path / "maildir").message_ids() == expected
    assert report["ok"]
    assert report["missing"] == report["twice"] == []
    assert report["sent_now"] == report["kinds"]["all"]["sent"] == EVENTS
    assert report["refused"]["mails"] > 0
    assert report["kinds"]["all"]["retries"] >= report["refused"]["mails"]
    kinds = report["kinds"]
    assert {kind: row["priority"] for kind, row in kinds.items()} == {
        "reset": "high",
        "sale": "medium",
        "sold": "medium",
        "expired": "low",
        "all": "",
    }
    events = Counter(e.kind for e in read_events(example_folder() / "events.jsonl", EVENTS))
    for kind, row in kinds.items():
        assert row["events"] == row["sent"] == sum(row["over_time"])
        assert row["sent"] == (events[kind] or EVENTS)
        assert 0 < row["wait_median_s"] <= row["wait_longest_s"]
    promises = {each["promise"]: each for each in report["promises"]}
    assert promises["never before its time"]["checked"] == events["sale"]
    order = report["order"]
    assert order["judged"]
    assert order["claims"] == EVENTS + report["refused"]["mails"]
    assert order["passed_over"] == order["out_of_turn"] == []
    assert order["overtaking"]["reset"]["most"] > 0


@pytest.mark.long
def test_a_killed_run_is_completed_by_the_next_one(tmp_path: Path) -> None:
    """Kill demo, workers and Valkey: a second run on the folder sends the rest."""
    options = ("--count", 600, "--concurrency", 4, "--embedded", tmp_path)
    with running_demo(*options) as process:
        wait_for_mails(tmp_path, 200)
        server = status(tmp_path).pid
        assert server is not None
        os.killpg(process.pid, signal.SIGKILL)
        os.kill(server, signal.SIGKILL)
    sent = set(MaildirStore(tmp_path / "maildir").message_ids())
    assert 200 <= len(sent) < 600

    done = demo(*options, "--json")

    assert done.returncode == 0, done.stdout + done.stderr
    report = json.loads(done.stdout)
    assert report["missing"] == []
    assert report["sent_before"] == len(sent)
    assert report["sent_before"] + report["sent_now"] == 600


@pytest.mark.long
def test_a_killed_worker_costs_no_mail(tmp_path: Path) -> None:
    """Start another worker in its place; its unfinished tasks run again."""
    with running_demo("--count", 600, "--embedded", tmp_path) as process:
        wait_for_mails(tmp_path, 100)
        os.kill(worker_pids(process.pid)[0], signal.SIGKILL)
        output, _ = process.communicate(timeout=DEADLINE_S)

    report = json.loads(output)
    assert process.returncode == 0
    assert report["workers_replaced"] == 1
    assert report["missing"] == []
    assert report["order"]["judged"]
    assert report["order"]["passed_over"] == report["order"]["out_of_turn"] == []


def worker_pids(demo: int) -> list[int]:
    lines = subprocess.run(
        ["ps", "-A", "-ww", "-o", "pid=,ppid=,args="], capture_output=True, text=True, check=True
    ).stdout.splitlines()
    processes = [line.split(None, 2) for line in lines]
    return [
        int(pid)
        for pid, parent, args in processes
        if int(parent) == demo and "holdfast_demo.child" in args
    ]


def test_a_sale_is_announced_before_it_begins(tmp_path: Path) -> None:
    """Delay the mail until the sale begins; refuse a sale that has begun."""
    path = tmp_path / "events.jsonl"
    sale = dict.fromkeys(("email", "player", "seller", "item", "price"), "")
    sale |= {"event": "sale", "id": "1", "at": "2026-03-14T17:00:00+00:00"}
    path.write_text(json.dumps(sale | {"starts_at": "2026-03-14T17:30:00+00:00"}))
    assert read_events(path)[0].delay_s == 3.0

    path.write_text(json.dumps(sale | {"starts_at": "2026-03-14T16:30:00+00:00"}))
    with pytest.raises(ValueError, match="starts before it was announced"):
        read_events(path)


# The pieces


def event(number: int, kind: str = "sold", delay_s: float = 0.0) -> MarketEvent:
    return MarketEvent(kind, f"{kind}-{number}", {}, delay_s)


def mail(mail_id: str, **headers: str) -> EmailMessage:
    message = EmailMessage()
    message["From"] = "market@fakegame.example"
    message["To"] = "jill@players.example"
    message["Message-ID"] = f"<{mail_id}>"
    for name, value in headers.items():
        message[name.replace("_", "-")] = value
    message.set_content("Sold!\n.\n..\n")
    return message


def send(server: SmtpServer, message: EmailMessage) -> None:
    with smtplib.SMTP(server.address, local_hostname="test.example", timeout=10.0) as client:
        client.send_message(message)


def test_the_check_misses_a_mail_that_is_gone(tmp_path: Path) -> None:
    """Report a removed mail as missing, and one that came twice as such."""
    store = MaildirStore(tmp_path / "maildir")
    events = [event(number) for number in (1, 2, 3)]
    for each in [*events, events[1]]:
        store.add(mail(each.mail_id).as_bytes())
    assert copies_of(events, store.message_ids()).missing == []

    gone = next(f for f in tmp_path.glob("maildir/new/*") if b"<sold-3@" in f.read_bytes())
    gone.unlink()

    found = copies_of(events, store.message_ids())
    assert found.missing == ["sold-3"]
    assert found.twice == ["sold-2"]


def test_a_refused_mail_is_taken_on_the_next_try(tmp_path: Path) -> None:
    """Answer 451 as often as the faults require, then store the mail."""
    store = MaildirStore(tmp_path / "maildir")
    faults = SmtpFaults(refused_mails=1000, every_connection=0)
    mail_id = next(i for i in map(str, range(1000)) if faults.refusals(i) == 2)
    message = mail(mail_id, X_Attempt="3", X_Token="7", X_Enqueued_At="2026-03-14 17:00:00+00:00")

    with SmtpServer(store, faults) as server:
        for _ in range(2):
            with pytest.raises(smtplib.SMTPDataError, match="451"):
                send(server, message)
        send(server, message)

    assert server.refused == SmtpRefusals(mails=2, connections=0)
    assert store.message_ids() == {mail_id: 1}
    [delivery] = server.deliveries
    assert (delivery.mail_id, delivery.attempt, delivery.token) == (mail_id, 3, 7)
    assert delivery.enqueued_at == 1773507600.0
    assert delivery.started_at == delivery.answered_at
    assert [refusal.mail_id for refusal in server.refusals] == [mail_id] * 2


def test_every_so_many_connections_one_is_turned_away(tmp_path: Path) -> None:
    """Refuse a connection with 421, and serve the next ones."""
    faults = SmtpFaults(refused_mails=0, every_connection=2)
    with SmtpServer(MaildirStore(tmp_path / "maildir"), faults) as server:
        send(server, mail("1"))
        with pytest.raises(smtplib.SMTPConnectError, match="421"):
            send(server, mail("2"))
        send(server, mail("2"))

    assert server.refused == SmtpRefusals(mails=0, connections=1)
    assert [delivery.mail_id for delivery in server.deliveries] == ["1", "2"]


def test_a_mail_without_a_date_of_its_own_counts_from_its_arrival() -> None:
    """Replace absent or invalid headers by the time of storing and attempt 1."""
    delivery = MailArrival.read(mail("1", X_Attempt="many", X_Enqueued_At="None"))

    assert (delivery.attempt, delivery.token) == (1, 0)
    assert delivery.enqueued_at == delivery.started_at == delivery.answered_at


def history(deliveries: list[MailArrival]) -> MailHistory:
    return MailHistory(deliveries, 100.0, 110.0)


def test_figures_count_the_first_delivery_of_a_mail() -> None:
    """Ignore second copies and mails of other events."""
    events = [event(1), event(2)]
    deliveries = [
        MailArrival(events[0].mail_id, 1, 0, 100.0, 101.0, 101.1),
        MailArrival(events[1].mail_id, 3, 0, 100.0, 103.0, 103.1),
        MailArrival(events[1].mail_id, 9, 0, 100.0, 190.0, 190.1),
        MailArrival("another", 9, 0, 100.0, 190.0, 190.1),
    ]

    row = history(deliveries).figures(events, {"sold-1"})

    assert (row.events, row.sent, row.retried, row.retries) == (2, 1, 1, 2)
    assert row.wait_median_s == pytest.approx(2.1)
    assert row.wait_longest_s == pytest.approx(3.1)
    assert [i for i, count in enumerate(row.over_time) if count] == [2, 6]


def test_the_wait_of_a_delayed_mail_counts_from_its_time() -> None:
    """Measure the wait from the due time, for each kind separately."""
    events = [event(1, "sale", delay_s=4.0), event(2, "expired")]
    deliveries = [
        MailArrival(events[0].mail_id, 1, 0, 100.0, 104.2, 104.5),
        MailArrival(events[1].mail_id, 1, 0, 100.0, 109.0, 109.0),
    ]

    rows = history(deliveries).by_kind(events, {"sale": "medium", "expired": "low"}, set())

    assert list(rows) == ["sale", "expired", "all"]
    assert rows["sale"].wait_longest_s == pytest.approx(0.5)
    assert rows["expired"].wait_longest_s == pytest.approx(9.0)


def test_a_mail_begun_before_its_time_is_found() -> None:
    """Find it, also if it was refused then."""
    events = [event(1, "sale", 5.0), event(2, "sale", 5.0), event(3, "sale", 5.0), event(4)]
    arrivals = [
        MailArrival(events[0].mail_id, 1, 0, 100.0, 105.0, 105.1),  # just in time
        MailArrival(events[1].mail_id, 1, 0, 100.0, 104.999, 105.1),
        MailArrival(events[2].mail_id, 1, 0, 100.0, 103.0, 103.1),  # refused
        MailArrival(events[2].mail_id, 2, 0, 100.0, 106.0, 106.1),
        MailArrival(events[3].mail_id, 1, 0, 100.0, 100.0, 100.1),  # of no delay
    ]

    found = not_before_its_time(events, arrivals)
    assert found.checked == 3
    assert [problem.split()[0] for problem in found.problems] == ["sale-2", "sale-3"]


# The order

PRIORITIES = {"reset": "high", "sale": "medium", "sold": "medium", "expired": "low"}


class History:
    """Build the records of a producer and a mail server; the server's clock is *lead_s* ahead.

    The first mail is claimed as soon as it is enqueued, so that the clocks leave no doubt.
    """

    def __init__(self, lead_s: float = 0.0) -> None:
        self.lead_s = lead_s
        self.events: list[MarketEvent] = []
        self.enqueued: dict[str, Enqueued] = {}
        self.arrivals: list[MailArrival] = []
        self.mail("sold", enqueued=1.0, claimed=1.0, took=0.0)

    def mail(
        self,
        kind: str,
        enqueued: float,
        claimed: float,
        *,
        delay: float = 0.0,
        attempt: int = 1,
        took: float = 0.01,
    ) -> str:
        """Add one mail with one claim; return its task id."""
        one = event(len(self.events), kind, delay)
        self.events.append(one)
        self.enqueued[one.mail_id] = Enqueued(len(self.enqueued), enqueued, enqueued + took)
        token = round((claimed + self.lead_s) * 1e6)
        began = claimed + took
        self.arrivals.append(MailArrival(one.mail_id, attempt, token, enqueued, began, began + 0.1))
        return one.task_id

    def order(self, given_back: Container[str] = ()) -> ClaimOrder:
        return judge(self.events, PRIORITIES, self.enqueued, self.arrivals, given_back)


@pytest.mark.parametrize("lead_s", [0.0, 3600.0, -3600.0])
def test_an_order_that_was_kept_is_found_kept(lead_s: float) -> None:
    """Accept due before ready and high before low, with any clock of the server."""
    history = History(lead_s)
    for number in range(3):
        history.mail("expired", 2.0, claimed=8.0 + number)
        history.mail("sold", 2.1, claimed=5.0 + number)
        history.mail("sale", 2.2, claimed=4.0 + number / 10, delay=1.0)
    history.mail("reset", 3.0, claimed=3.1)

    order = history.order()

    assert order.judged
    assert order.kept
    assert order.claims == 11
    assert order.doubt_s == pytest.approx(0.0, abs=1e-5)
    assert order.overtaking == {"reset": OvertakenMails(1, 6, 6), "sale": OvertakenMails(3, 3, 3)}


class Claims(NamedTuple):
    """Describe mails as arguments of `History.mail`, and which of them were claimed too early."""

    mails: Sequence[Mapping[str, Any]]
    passed_over: Sequence[int] = ()
    out_of_turn: Sequence[int] = ()


def claim(kind: str, enqueued: float, claimed: float, **more: float) -> Mapping[str, Any]:
    return {"kind": kind, "enqueued": enqueued, "claimed": claimed, **more}


CLAIMS = {
    **{
        f"{then} before {first}": Claims(
            [claim(first, 2.0, 5.0), claim(then, 1.5, 4.0), claim(then, 1.6, 6.0)], passed_over=[1]
        )
        for first, then in (("reset", "sold"), ("reset", "expired"), ("sold", "expired"))
    },
    "a retry": Claims(
        [claim("reset", 2.0, 5.0), claim("expired", 1.5, 4.0, attempt=3)], passed_over=[1]
    ),
    "a due mail waits": Claims(  # it is due at 5.0
        [claim("sale", 2.0, 9.0, delay=3.0), claim("sold", 2.1, 4.9), claim("sold", 2.2, 5.1)],
        passed_over=[2],
    ),
    "an enqueue that was not finished": Claims(
        [claim("expired", 1.5, 3.05), claim("reset", 3.0, 4.0, took=0.1)]
    ),
    "a first attempt without a record": Claims(
        [claim("expired", 1.5, 6.0), claim("reset", 5.0, 7.0, attempt=2)]
    ),
    "one step": Claims([claim("sold", 7.5, 8.0), claim("expired", 7.5, 8.0)]),
    "within a priority": Claims(
        [
            claim("sold", 2.0, 5.0),
            claim("sold", 2.1, 4.0),
            claim("sold", 2.2, 6.0),
            claim("expired", 1.9, 7.0),
            claim("sold", 2.3, 6.1, attempt=2),
        ],
        out_of_turn=[1],
    ),
}


@pytest.mark.parametrize("lead_s", [0.0, 3600.0, -3600.0])
@pytest.mark.parametrize("what", CLAIMS)
def test_a_claim_that_came_too_early_is_found(what: str, lead_s: float) -> None:
    """Find it, with any clock of the server; ignore what the records do not prove."""
    history = History(lead_s)
    mails, passed_over, out_of_turn = CLAIMS[what]
    ids = [history.mail(**each) for each in mails]

    order = history.order()

    assert order.judged
    assert order.passed_over == [ids[n] for n in passed_over]
    assert order.out_of_turn == [ids[n] for n in out_of_turn]
    assert order.kept is not bool(passed_over or out_of_turn)


def test_a_mail_that_was_given_back_is_not_taken_for_one_that_waited() -> None:
    """Ignore it in the order; without the log both other mails look wrong."""
    history = History()
    returned = history.mail("sold", 2.0, claimed=5.0)
    behind = history.mail("sold", 2.1, claimed=4.0)
    worse = history.mail("expired", 2.2, claimed=4.5)

    assert (history.order().out_of_turn, history.order().passed_over) == ([behind], [worse])
    assert history.order({returned}).kept
    assert not history.order({behind}).kept


def test_clocks_that_contradict_each_other_are_not_judged_by() -> None:
    """Judge nothing if a mail was begun before it was claimed."""
    history = History()
    history.arrivals.append(replace(history.arrivals[0], started_at=0.5))

    assert not history.order().judged
    assert not judge([], PRIORITIES, {}, []).judged


def test_a_mail_that_an_earlier_run_enqueued_has_no_place() -> None:
    """Ignore it: the time of its enqueue is not known."""
    history = History()
    history.mail("reset", 2.0, claimed=5.0)
    history.arrivals[-1] = replace(history.arrivals[-1], enqueued_at=-100.0)
    history.mail("expired", 1.5, claimed=4.0)

    assert history.order().passed_over == []


def test_the_events_are_what_their_generator_writes() -> None:
    """Check that `events.jsonl` was not edited by hand."""
    folder = example_folder()
    written = subprocess.run(
        [sys.executable, folder / "make_events.py"],
        capture_output=True,
        check=True,
        env=os.environ | {"PYTHONUTF8": "1"},
    ).stdout

    assert written == (folder / "events.jsonl").read_bytes()
