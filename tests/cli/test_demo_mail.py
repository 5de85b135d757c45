"""`holdfast demo mail`, as a user runs it: whatever is killed, every event gets its mail."""

import contextlib
import json
import os
import signal
import smtplib
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from email.message import EmailMessage
from pathlib import Path

import pytest

from holdfast.cli.demo.events import Event, example_folder, read_events
from holdfast.cli.demo.maildir import MailStore
from holdfast.cli.demo.report import check, figures
from holdfast.cli.demo.smtp import Delivery, Faults, MailServer, Refused
from holdfast.server import status

DEADLINE_S = 90.0


def command(*arguments: object) -> list[str]:
    return [sys.executable, "-m", "holdfast", "demo", "mail", *map(str, arguments)]


def demo(*arguments: object) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        command(*arguments), capture_output=True, text=True, timeout=DEADLINE_S, check=False
    )


@contextlib.contextmanager
def running_demo(*arguments: object) -> Iterator["subprocess.Popen[str]"]:
    """A demo and its workers in a process group of their own, killed at the end of the block."""
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


def test_every_event_gets_its_mail(tmp_path: Path) -> None:
    """A run ends with code 0, one mail per event in the maildir, and a report that says so."""
    done = demo("--count", 150, "--embedded", tmp_path, "--json")

    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    expected = Counter(e.mail_id for e in read_events(example_folder() / "events.jsonl", 150))
    assert MailStore(tmp_path / "maildir").message_ids() == expected
    assert report["ok"]
    assert report["missing"] == report["twice"] == []
    assert report["sent_now"] == report["kinds"]["all"]["sent"] == 150
    assert report["refused"]["mails"] > 0
    assert report["kinds"]["all"]["retries"] >= report["refused"]["mails"]
    assert 0 < report["kinds"]["all"]["wait_mean_s"] <= report["kinds"]["all"]["wait_p99_s"]


def test_a_killed_run_is_completed_by_the_next_one(tmp_path: Path) -> None:
    """After kill -9 of demo, workers and Valkey, a second run on the folder sends the rest."""
    options = ("--count", 600, "--concurrency", 4, "--embedded", tmp_path)
    with running_demo(*options) as process:
        wait_for_mails(tmp_path, 200)
        server = status(tmp_path).pid
        assert server is not None
        os.killpg(process.pid, signal.SIGKILL)
        os.kill(server, signal.SIGKILL)
    sent = set(MailStore(tmp_path / "maildir").message_ids())
    assert 200 <= len(sent) < 600

    done = demo(*options, "--json")

    assert done.returncode == 0, done.stdout + done.stderr
    report = json.loads(done.stdout)
    assert report["missing"] == []
    assert report["sent_before"] == len(sent)
    assert report["sent_before"] + report["sent_now"] == 600


def test_a_killed_worker_costs_no_mail(tmp_path: Path) -> None:
    """Another worker takes its place, and what it had begun runs again."""
    with running_demo("--count", 600, "--embedded", tmp_path) as process:
        wait_for_mails(tmp_path, 100)
        os.kill(worker_pids(process.pid)[0], signal.SIGKILL)
        output, _ = process.communicate(timeout=DEADLINE_S)

    report = json.loads(output)
    assert process.returncode == 0
    assert report["workers_replaced"] == 1
    assert report["missing"] == []


def worker_pids(demo: int) -> list[int]:
    lines = subprocess.run(
        ["ps", "-A", "-o", "pid=,ppid=,args="], capture_output=True, text=True, check=True
    ).stdout.splitlines()
    processes = [line.split(None, 2) for line in lines]
    return [int(pid) for pid, parent, args in processes if int(parent) == demo and "leash" in args]


def test_workers_do_not_outlive_a_killed_demo(tmp_path: Path) -> None:
    """When only the demo is killed, its workers notice and end by themselves."""
    with running_demo("--embedded", tmp_path) as process:
        wait_for_mails(tmp_path, 20)
        process.kill()
        process.wait()

        deadline_s = time.monotonic() + 30.0
        while group_lives(process.pid):
            assert time.monotonic() < deadline_s, "workers still run"
            time.sleep(0.05)


def group_lives(group: int) -> bool:
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    return True


def test_without_a_terminal_it_prints_plain_lines(tmp_path: Path) -> None:
    """In a pipe there are no control codes, and the verdict is the last thing said."""
    done = demo("--count", 20, "--embedded", tmp_path)

    assert done.returncode == 0, done.stdout + done.stderr
    assert "\x1b" not in done.stdout
    assert "20 events, 20 mails: none missing, none twice" in done.stdout


def test_events_that_are_none_are_a_usage_error(tmp_path: Path) -> None:
    """The message names the file and the line; nothing is started."""
    path = tmp_path / "events.jsonl"
    path.write_text('{"event": "stolen", "id": 1}\n')

    done = demo("--events", path)

    assert done.returncode == 2
    assert "line 1 is not a market event" in " ".join(done.stderr.replace("│", " ").split())


# The pieces


def event(number: int, kind: str = "sold") -> Event:
    return Event(kind, f"{kind}-{number}", {})


def mail(mail_id: str, **headers: str) -> EmailMessage:
    message = EmailMessage()
    message["From"] = "market@fakegame.example"
    message["To"] = "jill@players.example"
    message["Message-ID"] = f"<{mail_id}>"
    for name, value in headers.items():
        message[name.replace("_", "-")] = value
    message.set_content("Sold!\n.\n..\n")
    return message


def send(server: MailServer, message: EmailMessage) -> None:
    with smtplib.SMTP(server.address, local_hostname="test.example", timeout=10.0) as client:
        client.send_message(message)


def test_the_check_misses_a_mail_that_is_gone(tmp_path: Path) -> None:
    """A mail removed from the maildir is missing, one that is there twice is reported as such."""
    store = MailStore(tmp_path / "maildir")
    events = [event(number) for number in (1, 2, 3)]
    for each in [*events, events[1]]:
        store.add(mail(each.mail_id).as_bytes())
    assert check(events, store.message_ids()).missing == []

    gone = next(f for f in tmp_path.glob("maildir/new/*") if b"<sold-3@" in f.read_bytes())
    gone.unlink()

    found = check(events, store.message_ids())
    assert found.missing == ["sold-3"]
    assert found.twice == ["sold-2"]


def test_a_refused_mail_is_taken_on_the_next_try(tmp_path: Path) -> None:
    """The server answers 451 as often as its faults say, then stores the mail and what it says."""
    store = MailStore(tmp_path / "maildir")
    faults = Faults(refused_mails=1000, every_connection=0)
    mail_id = next(i for i in map(str, range(1000)) if faults.refusals(i) == 2)
    message = mail(mail_id, X_Attempt="3", X_Enqueued_At="2026-03-14 17:00:00+00:00")

    with MailServer(store, faults) as server:
        for _ in range(2):
            with pytest.raises(smtplib.SMTPDataError, match="451"):
                send(server, message)
        send(server, message)

    assert server.refused == Refused(mails=2, connections=0)
    assert store.message_ids() == {mail_id: 1}
    [delivery] = server.deliveries
    assert (delivery.mail_id, delivery.attempt) == (mail_id, 3)
    assert delivery.enqueued_at == 1773507600.0
    assert delivery.started_at == delivery.stored_at


def test_every_so_many_connections_one_is_turned_away(tmp_path: Path) -> None:
    """A refused connection gets 421, the next ones are served."""
    faults = Faults(refused_mails=0, every_connection=2)
    with MailServer(MailStore(tmp_path / "maildir"), faults) as server:
        send(server, mail("1"))
        with pytest.raises(smtplib.SMTPConnectError, match="421"):
            send(server, mail("2"))
        send(server, mail("2"))

    assert server.refused == Refused(mails=0, connections=1)
    assert [delivery.mail_id for delivery in server.deliveries] == ["1", "2"]


def test_a_mail_without_a_date_of_its_own_counts_from_its_arrival() -> None:
    """Headers that are absent or nonsense become the instant of storing and the first attempt."""
    delivery = Delivery.read(mail("1", X_Attempt="many", X_Enqueued_At="None"))

    assert delivery.attempt == 1
    assert delivery.enqueued_at == delivery.started_at == delivery.stored_at


def test_figures_count_the_first_delivery_of_a_mail() -> None:
    """A second copy changes neither the waits nor the retries; other events' mails are left out."""
    events = [event(1), event(2)]
    deliveries = [
        Delivery(events[0].mail_id, 1, 100.0, 101.0, 101.1),
        Delivery(events[1].mail_id, 3, 100.0, 103.0, 103.1),
        Delivery(events[1].mail_id, 9, 100.0, 190.0, 190.1),
        Delivery("another", 9, 100.0, 190.0, 190.1),
    ]

    row = figures(events, {"sold-1"}, deliveries)

    assert (row.events, row.sent, row.retried, row.retries) == (2, 1, 1, 2)
    assert (row.wait_mean_s, row.wait_p99_s) == (2.0, 3.0)


def test_the_events_are_what_their_generator_writes() -> None:
    """`events.jsonl` was not edited by hand."""
    folder = example_folder()
    written = subprocess.run(
        [sys.executable, folder / "make_events.py"],
        capture_output=True,
        check=True,
        env=os.environ | {"PYTHONUTF8": "1"},
    ).stdout

    assert written == (folder / "events.jsonl").read_bytes()
