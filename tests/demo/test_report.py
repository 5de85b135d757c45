"""Test the screen and the report of demos, in eighty columns."""

from __future__ import annotations

import json
from io import StringIO
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from rich.console import Console

from holdfast import Count
from holdfast_demo.chat import ChatDemo
from holdfast_demo.demo import Demo, Figures, Grid, Invariant
from holdfast_demo.example_files import example
from holdfast_demo.logs.tallying import LogsDemo
from holdfast_demo.mail.evening import strip
from holdfast_demo.market.contest import ROUNDS, MarketDemo, RoundResult
from holdfast_demo.market.trader import TradeCounts
from holdfast_demo.report import DemoReport, print_report
from holdfast_demo.screen import drawn

KEPT = Invariant("queue", "an acknowledged task runs", 7, "mails")


def report_of(*invariants: Invariant, killed: tuple[str, ...] = ()) -> DemoReport:
    figures = Figures(notes=[("pace", "9/s")], grids=[Grid(("mail", "sent"), [["sold", "7"]])])
    return DemoReport(figures, invariants, killed, {"seed": 5}, ["--seed 5"], Path("evidence"))


def printed(report: DemoReport) -> str:
    text = StringIO()
    print_report(report, Console(file=text, width=80))
    return text.getvalue()


def broken(*problems: str, checked: int = 7) -> Invariant:
    return Invariant("locks", "one holder", checked, "items", problems)


@pytest.mark.parametrize(
    ("invariants", "killed", "message"),
    [
        ((KEPT,), (), "✓ the promise was kept"),
        ((KEPT, KEPT), ("server",), "✓ all 2 promises were kept, after 1 kill: server"),
        ((KEPT, broken("jill lost it")), (), "locks: jill lost it"),
        ((KEPT, broken("jill lost it")), (), "✗ 1 of 2 promises not kept"),
        ((broken(*map(str, range(9))),), (), "locks: and 6 more"),
        ((broken(checked=0),), (), "locks: nothing was checked"),
        ((broken("\x1b[31mred"),), (), r"locks: \x1b[31mred"),
        ((KEPT, broken(checked=1)), (), "1 item  ✓"),
        ((), (), "pace"),
    ],
)
def test_the_verdict(
    invariants: tuple[Invariant, ...], killed: tuple[str, ...], message: str
) -> None:
    """Print that every promise was kept, or name the problems; JSON agrees."""
    report = report_of(*invariants, killed=killed)
    text = printed(report)
    assert message in text
    assert ("✗" in text) is not report.ok
    assert max(map(len, text.splitlines())) <= 80
    found = json.loads(report.as_json())
    assert (found["ok"], found["seed"]) == (report.ok, 5)
    assert ("folder" in found) is ("evidence" in text) is not report.ok


def picture_of(demo: Demo, **state: Any) -> str:
    for name, value in state.items():
        setattr(demo, name, value)
    text = StringIO()
    for part in drawn(demo.figures()):
        Console(file=text, width=80).print(part)
    shown = text.getvalue()
    assert max(map(len, shown.splitlines())) <= 80
    return shown


def test_the_screen_shows_which_phones_are_offline() -> None:
    """Show a sign for each phone."""
    garage = example("fakegarage/__init__.py")
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
    shown = picture_of(ChatDemo(), _garage=scene)
    assert "○●×" in shown
    assert "13:00" in shown
    assert act.text in shown
    assert "0 of" in shown


def test_the_screen_shows_which_counter_was_killed() -> None:
    """Show what was counted so far."""
    consumers = [SimpleNamespace(name=name, files=2, bytes=2**21) for name in ("geo-1", "geo-2")]
    shown = picture_of(
        LogsDemo(days=1, lines=140_000),
        _published={"a": 2**22}, _sizes={"a": 2**23}, _days={"2011-10-10": 70_000}, _rejected=0,
        _used=2**20, _consumers=consumers, _killed="geo-2",
        _best=[Count("US", 40_000), Count("DE", 30_000)],
    )  # fmt: skip
    assert shown.count("● counts") == shown.count("× killed") == 1
    assert "57.1%" in shown


def test_the_screen_shows_the_rounds_of_the_market() -> None:
    """Show what was traded in each round that is over, and which round goes on."""
    first, second = ROUNDS[:2]
    counts = TradeCounts(listed=1_234, bought=56, retries=7, waited_s=0.56)
    done = [RoundResult(first, counts, 0, 0, ())]
    shown = picture_of(MarketDemo(), _done=done, _round=second)
    cells = next(line.split() for line in shown.splitlines() if "WATCH/MULTI/EXEC" in line)
    assert cells[-5:] == ["1,234", "56", "10.0", "ms", "7"]
    assert str(second) in shown


def test_a_strip_shows_when_there_was_something() -> None:
    """Draw blocks of eight heights."""
    assert strip([0, 1, 8, 4]) == "·▁█▄"
    assert strip([0, 0]) == strip([]) == ""
