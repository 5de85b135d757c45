"""`holdfast demo market` as a user runs it: three ways to trade, and nothing vanishes in any."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
import redis
from click.testing import Result
from typer.testing import CliRunner

from cli.programs import CTRL_C, holdfast, on_terminal
from faults.processes import Process
from faults.servers import Server
from faults.waiting import eventually
from holdfast.cli.app import app
from holdfast.cli.demo.examples import example_file
from holdfast.cli.demo.market.audit import Holdings, problems
from holdfast.cli.demo.market.contest import Round
from holdfast.cli.demo.market.figures import Tally
from holdfast.server import EmbeddedServer

EXAMPLE = example_file("market.py")
PATIENCE_S = 60.0
WAYS = ("watch", "market_lock", "item_locks")
CROWDS = ((1, 1), (5, 1), (5, 5))


@pytest.mark.timeout(240)
def test_the_contest_in_figures(standalone: Server) -> None:
    """Nine runs, each with trade, all conserved; and the user's server is left as it was."""
    with standalone.client() as client:
        before = set(client.scan_iter("*"))
    for seconds in ("0.2", "1", "5"):  # a busy machine may trade nothing in a short time
        argv = ("demo", "market", "--seconds", seconds, "--json")
        done = holdfast(*argv, patience_s=200.0, HOLDFAST_URL=standalone.url)
        assert done.returncode == 0, done.stderr
        report = json.loads(done.stdout)
        assert (report["ok"], report["seconds"]) == (True, float(seconds))
        runs = report["runs"]
        traded = {what: [run[what] for run in runs] for what in ("listed", "bought", "retries")}
        if all(traded["listed"]) and any(traded["bought"]) and any(traded["retries"]):
            break
    assert [(run["sellers"], run["buyers"], run["way"]) for run in runs] == [
        (*crowd, way) for crowd in CROWDS for way in WAYS
    ]
    for run in runs:
        assert run["problems"] == []
        assert run["listed"] > 0
        assert run["gold"] == run["buyers"] * 10**9
        assert run["items"] == run["crafted"] + 1  # the crown, too
        assert run["longest_s"] >= (run["mean_wait_s"] or 0.0) >= 0
        # A lock is waited for; nothing is begun again.
        assert run["retries"] == 0 or run["way"] == "watch"
    assert sum(run["bought"] for run in runs) > 0
    assert sum(run["retries"] for run in runs) > 0
    with standalone.client() as client:
        assert set(client.scan_iter("*")) <= before


@pytest.mark.long  # each line of the table is in the tests of mistakes, its own server in Ctrl-C's
def test_it_brings_its_own_server_and_a_table() -> None:
    """In a pipe without control codes; the verdict is the last thing said."""
    done = holdfast("demo", "market", "--seconds", "0.1")

    assert done.returncode == 0, done.stdout + done.stderr
    assert "\x1b" not in done.stdout
    table = done.stdout[done.stdout.index("sellers × buyers") :]
    for text in ("listed", "bought", "mean wait", "retries", "5 × 1", "WATCH/MULTI/EXEC"):
        assert text in table
    assert "one lock" in table
    assert "a lock per item" in table
    assert "money and items are conserved in all 9 runs" in table
    assert max(map(len, done.stdout.splitlines())) <= 80


@pytest.mark.long
def test_a_folder_keeps_nothing_of_it(tmp_path: Path) -> None:
    """Whose server is used, with --embedded, is not littered; not by the locks either."""
    done = holdfast("demo", "market", "--seconds", "0.1", "--embedded", str(tmp_path / "data"))
    assert done.returncode == 0, done.stdout + done.stderr
    with (
        EmbeddedServer.open(tmp_path / "data") as server,
        redis.Redis.from_url(server.url) as client,
    ):
        assert client.dbsize() == 0


Tampered = Callable[..., Result]


@pytest.fixture
def tampered(standalone: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Tampered:
    """Run one round of the demo on a market in whose source text was replaced."""

    def run(this: Round, *changes: tuple[str, str], code: int = 1) -> Result:
        text = EXAMPLE.read_text()
        for old, new in changes:
            assert old in text
            text = text.replace(old, new)
        (tmp_path / "market.py").write_text(text)
        found = tmp_path / "market.py"
        monkeypatch.setattr("holdfast.cli.demo.examples.example_file", lambda name: found)
        monkeypatch.setattr("holdfast.cli.demo.market.contest.ROUNDS", (this,))
        for seconds in ("0.5", "2", "8", "20"):  # a busy machine may sell nothing in a short time
            args = ["demo", "market", "--seconds", seconds, "--url", standalone.url]
            result = CliRunner(env={"COLUMNS": "120"}).invoke(app, args)
            if result.exit_code == code and " 0 bought" not in result.output:
                break
        return result

    return run


MISTAKES = {
    "gold": ('("DECRBY", purse, price),', "gold, now there are"),
    "twice": ('("HDEL", self.offers, item),', "are there twice: "),
    "vanished": ('("SADD", self.bag(buyer), item),', "vanished: "),
}


@pytest.mark.parametrize(("way", "mistake"), [*zip(WAYS, MISTAKES, strict=True)])
def test_what_is_not_conserved_is_told(tampered: Tampered, way: str, mistake: str) -> None:
    """A market with a mistake is found out: exit code 1, and what is wrong."""
    forgotten, told = MISTAKES[mistake]
    result = tampered(Round(way, 1, 1), (forgotten, ""))
    assert (result.exit_code, told in result.output) == (1, True), result.output
    assert "conserved" not in result.output


ALL_WANT_THE_SAME = (
    "self.redis.hrandfield(self.offers)",
    "max(self.redis.hkeys(self.offers), default=None)",
)
NO_LOCK = ("lock_all(names, ", "lock_all([name + secrets.token_hex(4) for name in names], ")


@pytest.mark.timeout(240)
def test_a_lock_that_does_not_lock_is_found_out(tampered: Tampered) -> None:
    """Without it an item is sold twice, and the demo sees that; with it, nothing happens."""
    this = Round("market_lock", 1, 3)
    good = tampered(this, ALL_WANT_THE_SAME, code=0)
    assert good.exit_code == 0, good.output
    bad = tampered(this, ALL_WANT_THE_SAME, NO_LOCK)
    assert (bad.exit_code, "✗ 1 × 3, one lock" in bad.output) == (1, True), bad.output


def test_a_trader_that_fails_ends_the_demo(tampered: Tampered) -> None:
    """With what it had to say."""
    result = tampered(
        Round("watch", 1, 1), ("return Outcome.BOUGHT, [", 'raise RuntimeError("Help!"); _ = [')
    )
    assert result.exit_code == 1
    assert "RuntimeError: Help!" in result.output


def test_ctrl_c_ends_it() -> None:
    """In the midst of a run, in good order: no traceback, no trader left."""
    code, shown = on_terminal(
        "demo", "market", "--seconds", "20", wait_for="WATCH/MULTI/EXEC", say=CTRL_C, NO_COLOR="1"
    )
    assert code == 130, shown
    assert "stopped" in shown
    assert "Traceback" not in shown


@pytest.mark.parametrize(
    "number", [pytest.param(signal.SIGTERM, marks=pytest.mark.long), signal.SIGKILL]
)
def test_traders_do_not_outlive_it(number: signal.Signals, standalone: Server) -> None:
    """Not even if it is killed: their input ends, and so do they after the run."""
    argv = ("-m", "holdfast", "demo", "market", "--seconds", "2", "--url", standalone.url)
    with Process.python(*argv, name="demo") as demo:
        left = eventually(lambda: traders(demo.pid), PATIENCE_S, reason="traders")
        os.kill(demo.pid, number)
        code = demo.wait(PATIENCE_S)
        assert code == (130 if number == signal.SIGTERM else -number)
        eventually(lambda: not any(map(lives, left)), PATIENCE_S, reason="no trader is left")


def traders(demo: int) -> list[int]:
    lines = subprocess.run(
        ["ps", "-A", "-ww", "-o", "pid=,ppid=,args="], capture_output=True, text=True, check=True
    ).stdout.splitlines()
    processes = [line.split(None, 2) for line in lines]
    return [int(pid) for pid, parent, args in processes if int(parent) == demo and "trader" in args]


def lives(pid: int) -> bool:
    done = subprocess.run(
        ["ps", "-o", "stat=", "-p", str(pid)], capture_output=True, text=True, check=False
    )
    state = done.stdout.strip()
    return bool(state) and not state.startswith("Z")


def test_a_server_that_cannot_be_used() -> None:
    """A sentence, no traceback: nobody is there, or it is not of the kind that is needed."""
    away = holdfast("demo", "market", "--url", "redis://127.0.0.1:1")
    assert (away.returncode, "Traceback" in away.stderr) == (1, False)
    assert "cannot use redis://127.0.0.1:1" in away.stderr

    cluster = holdfast("demo", "market", "--url", "redis+cluster://127.0.0.1:1")
    assert cluster.returncode == 2
    assert "the market needs one server" in cluster.stderr


def test_one_of_two_servers() -> None:
    """As everywhere: `--url` and `--embedded` name two."""
    both = holdfast("demo", "market", "--url", "redis://127.0.0.1:1", "--embedded", "data")
    assert both.returncode == 2
    assert "name two servers" in both.stderr


# The pieces


HELD = Holdings(
    gold={"seller1": 30, "buyer1": 70},
    bags={"seller1": frozenset({"s-1"}), "buyer1": frozenset({"s-0"})},
    offers={"crown": "1000 king"},
)
FIGURES = Tally(crafted=2, listed=1, bought=1)


def told(held: Holdings, tally: Tally = FIGURES) -> list[str]:
    items = {"s-0", "s-1", "crown"}
    return list(problems(held, tally, gold=100, items=items, buyers=["buyer1"]))


def test_an_audit_that_finds_nothing() -> None:
    """Everything is where it belongs."""
    assert told(HELD) == []


@pytest.mark.parametrize(
    ("gold", "bags", "offers", "sentence"),
    [
        ({"seller1": 31, "buyer1": 70}, HELD.bags, HELD.offers, "100 gold, now there are 101"),
        ({"seller1": 130, "buyer1": -30}, HELD.bags, HELD.offers, "buyer1 owes 30 gold"),
        (HELD.gold, HELD.bags, {}, "1 items vanished: crown"),
        (HELD.gold, HELD.bags, {"crown": "", "egg": ""}, "1 items came from nowhere: egg"),
        (HELD.gold, HELD.bags, {"crown": "", "s-0": ""}, "1 items are there twice: s-0"),
    ],
)  # fmt: skip
def test_an_audit_that_finds_something(
    gold: dict[str, int], bags: dict[str, frozenset[str]], offers: dict[str, str], sentence: str
) -> None:
    """One sentence each."""
    [found] = told(Holdings(gold, bags, offers))
    assert found.endswith(sentence)


def test_figures_must_agree_with_the_data() -> None:
    """But where a lease was lost only the data can tell."""
    assert told(HELD, Tally(bought=2)) == ["buyers say that they bought 2 items, and have 1"]
    assert told(HELD, Tally(bought=2, unsure=1)) == []


def test_tallies_together() -> None:
    """Sums, and the longest wait; the mean is over everything that was tried."""
    one, other = (
        Tally(bought=3, gone=1, waited_s=2.0, longest_s=1.5),
        Tally(cut_off=1, waited_s=3.0),
    )
    assert Tally.together([one, other]).mean_wait_s == 1.0
    assert Tally.together([one, other]).longest_s == 1.5
    assert Tally().mean_wait_s is None
