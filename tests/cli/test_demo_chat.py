"""`holdfast demo chat` as a user runs it: phones drop off, and nothing is lost."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from io import StringIO
from pathlib import Path
from types import SimpleNamespace

import pytest
from click.testing import Result
from rich.console import Console
from typer.testing import CliRunner

from cli.programs import CTRL_C, holdfast, on_terminal
from faults.processes import Process
from faults.waiting import eventually
from holdfast.cli.app import app
from holdfast.cli.demo.chat.report import Report, Row
from holdfast.cli.demo.chat.screen import drawn
from holdfast.cli.demo.chat.summary import print_summary
from holdfast.cli.demo.examples import example_file, load_example

INIT = example_file("fakegarage/__init__.py")
PATIENCE_S = 60.0
SMALL = ("--clients", "12", "--seconds", "5", "--seed", "5")


@pytest.mark.timeout(240)
def test_nothing_is_lost_in_figures() -> None:
    """Tunnels and kills, and every message is where it belongs: exit code 0."""
    for seconds in ("5", "20"):  # on a busy machine a short day is over before phones drive
        day = (*SMALL, "--seconds", seconds)
        done = holdfast("demo", "chat", *day, "--json", patience_s=110.0)
        assert done.returncode == 0, done.stdout + done.stderr
        report = json.loads(done.stdout)
        if report["tunnels"]:
            break
    assert (report["ok"], report["problems"]) == (True, [])
    assert (report["clients"], report["processes"], report["seed"]) == (12, 2, 5)
    for row in (report["mailboxes"], report["chats"]):
        assert row["written"] == row["to_write"] > 0
        assert row["delivered"] == row["to_deliver"] > 0
    assert report["tunnels"] > 0
    assert report["kills"] >= 2
    assert 0 < report["wait_median_s"] <= report["wait_most_s"]
    assert "folder" not in report


@pytest.mark.long  # the same run as above, told in another way
def test_the_summary_in_a_pipe() -> None:
    """Lines without control codes, at most 80 columns; the verdict and the seed are at the end."""
    done = holdfast("demo", "chat", "--clients", "12", "--seconds", "2", "--seed", "5")

    assert done.returncode == 0, done.stdout + done.stderr
    assert "\x1b" not in done.stdout
    assert max(map(len, done.stdout.splitlines())) <= 80
    assert "12 phones in 2 processes" in done.stdout
    assert " of 12 phones away" in done.stdout
    assert "✓ 12 phones have every message, each in order" in done.stdout
    assert done.stdout.rstrip().endswith("--seed 5")


def test_the_screen_on_a_terminal() -> None:
    """What it shows while it runs, and that Ctrl-C ends it in good order."""
    code, shown = on_terminal(
        *("demo", "chat", "--clients", "12", "--seconds", "60"),
        wait_for="have it",
        say=CTRL_C,
        NO_COLOR="1",
    )
    assert code == 130, shown
    assert "stopped" in shown
    assert "Traceback" not in shown
    for text in ("written", "group chats", "has signal", "in a tunnel", "process killed"):
        assert text in shown


Tampered = Callable[..., Result]


@pytest.fixture
def tampered(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Tampered:
    """Run the demo with an app in one of whose files something was replaced."""

    def run(file: str, *changes: tuple[str, str]) -> Result:
        package = tmp_path / "fakegarage"
        shutil.copytree(INIT.parent, package)
        text = (package / file).read_text()
        for old, new in changes:
            assert old in text
            text = text.replace(old, new)
        (package / file).write_text(text)
        garage = package / "garage.py"  # what is lost will not come, however long one waits
        garage.write_text(garage.read_text().replace("STALL_S = 15.0", "STALL_S = 3.0"))
        for name in [name for name in sys.modules if name.partition(".")[0] == "fakegarage"]:
            monkeypatch.delitem(sys.modules, name)
        monkeypatch.setattr(
            "holdfast.cli.demo.examples.example_file", lambda name: package / "__init__.py"
        )
        return CliRunner(env={"COLUMNS": "120"}).invoke(app, ["demo", "chat", *SMALL, "--json"])

    return run


def test_a_phone_that_drops_a_message_is_found_out(tampered: Tampered) -> None:
    """Exit code 1, who misses what, and where to look."""
    result = tampered("phone.py", ("in batch.messages:", "in batch.messages[1:]:"))
    assert result.exit_code == 1, result.output
    report = json.loads(result.stdout)
    assert not report["ok"]
    assert any("does not have number" in problem for problem in report["problems"]), report
    folder = Path(report["folder"])
    assert list(folder.glob("*.jsonl"))
    shutil.rmtree(folder)


@pytest.mark.long
def test_a_message_that_is_sent_under_a_new_name_is_found_out(tampered: Tampered) -> None:
    """Whoever is unsure and makes up another name has sent it twice."""
    result = tampered(
        "phone.py",
        ("op_id=act.id)", "op_id=f'{act.id}/{time.time()}')"),
        (
            "seq = await self._do(act)",
            "await self._do(act)\n                seq = await self._do(act)",
        ),
    )
    assert result.exit_code == 1, result.output
    problems = json.loads(result.stdout)["problems"]
    assert any("their numbers are not 1 to" in problem for problem in problems), problems


def test_a_phone_that_fails_ends_the_demo(tampered: Tampered) -> None:
    """With what it had to say."""
    result = tampered(
        "phone.py", ("match act.kind:", 'raise RuntimeError("Help!")\n        match act.kind:')
    )
    assert result.exit_code == 1
    assert "RuntimeError: Help!" in result.output


@pytest.mark.parametrize(
    "number", [pytest.param(signal.SIGTERM, marks=pytest.mark.long), signal.SIGKILL]
)
def test_phones_do_not_outlive_it(number: signal.Signals) -> None:
    """Not even if it is killed: their input ends, and so do they."""
    argv = ("-m", "holdfast", "demo", "chat", "--clients", "12", "--seconds", "30", "--seed", "4")
    with Process.python(*argv, name="demo") as demo:
        eventually(lambda: "written" in demo.output, PATIENCE_S, reason="it has begun")
        left = children(demo.pid)
        assert left
        os.kill(demo.pid, number)
        code = demo.wait(PATIENCE_S)
        assert code == (130 if number == signal.SIGTERM else -number)
        eventually(lambda: not any(map(lives, left)), PATIENCE_S, reason="no phone is left")


def children(demo: int) -> list[int]:
    lines = subprocess.run(
        ["ps", "-A", "-ww", "-o", "pid=,ppid=,args="], capture_output=True, text=True, check=True
    ).stdout.splitlines()
    processes = [line.split(None, 2) for line in lines]
    return [int(pid) for pid, parent, args in processes if int(parent) == demo and "phones" in args]


def lives(pid: int) -> bool:
    done = subprocess.run(
        ["ps", "-o", "stat=", "-p", str(pid)], capture_output=True, text=True, check=False
    )
    return done.stdout.strip()[:1] not in ("", "Z")


# The pieces


def test_the_screen_says_who_is_cut_off() -> None:
    """A sign for each phone; in eighty columns."""
    garage = load_example(INIT)
    day = garage.Day.make(seed=1, clients=3, seconds=10.0)
    accounts = {user: garage.Account(user) for user in day.users}
    first, second, third = day.users
    accounts[second].signal = accounts[third].signal = True
    act = next(act for act in day.acts[first] if act.text)
    accounts[first].done[act.id] = 1
    count = SimpleNamespace(to_write=2, written=1, to_deliver=5, delivered=3)
    scene = SimpleNamespace(
        day=day, accounts=accounts, down={third}, kills=1, elapsed_s=5.0, said=[act],
        mailboxes=count, chats=count,
    )  # fmt: skip
    text = StringIO()
    Console(file=text, width=80).print(drawn(scene))
    shown = text.getvalue()
    assert "○●×" in shown
    assert "13:00" in shown
    assert act.text in shown
    assert "0 of" in shown
    assert max(map(len, shown.splitlines())) <= 80


def report(*problems: str, delivered: int = 5) -> Report:
    row = Row(places=2, to_write=3, written=3, to_deliver=5, delivered=delivered)
    return Report(1, 4, 2, 5.0, row, row, 9, 2, 1, 3, 0.1, 0.9, tuple(problems), "phones")


@pytest.mark.parametrize(
    ("of", "verdict"),
    [
        (report(), "✓ 4 phones have every message"),
        (report("jill lost it", delivered=4), "✗ 1 thing must not have happened"),
        (report(*map(str, range(9))), "and 4 more"),
    ],
)
def test_the_verdict(of: Report, verdict: str) -> None:
    """Either all is well, or what is not."""
    text = StringIO()
    print_summary(of, Console(file=text, width=80))
    assert verdict in text.getvalue()
    assert ("✓" in text.getvalue()) is of.as_json()["ok"] is (not of.problems)
