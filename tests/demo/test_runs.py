"""Test the demos as users run them: their figures, mistakes, screens and ends."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import redis
from click.testing import Result
from typer.testing import CliRunner

from cli.programs import CTRL_C, holdfast, on_terminal
from faults.processes import Process
from faults.servers import Server
from faults.waiting import eventually
from holdfast.cli.app import app
from holdfast.server import EmbeddedServer
from holdfast_demo.chat import ChatDemo
from holdfast_demo.demo import Demo
from holdfast_demo.example_files import FOLDERS, example
from holdfast_demo.logs.tallying import LogsDemo
from holdfast_demo.market.contest import GUARDS, MarketDemo, MarketRound
from holdfast_demo.reports import ReportsDemo
from holdfast_demo.runner import run
from holdfast_demo.sale import SaleDemo
from holdfast_demo.traffic import TrafficDemo

PATIENCE_S = 60.0
ROUNDS = tuple(MarketRound(guard, n, n) for n in (1, 2) for guard in GUARDS)
"""With fewer traders than the rounds of the demo: each trader is a process."""

CHAT = ("chat", "--clients", "12", "--seed", "5", "--seconds")
LOGS = ("logs", "--days", "1", "--lines", "100000", "--seed", "5")
SALE = ("sale", "--readers", "2", "--seconds")
TRAFFIC = ("traffic", "--players", "4", "--seed", "5", "--seconds")

Figures = dict[str, Any]


def is_market(found: Figures) -> bool:
    """Return whether all rounds had offers; check that they conserve gold and items."""
    runs = found["runs"]
    assert [(run["sellers"], run["buyers"], run["guard"]) for run in runs] == [
        (each.sellers, each.buyers, each.guard) for each in ROUNDS
    ]
    for each in runs:
        assert each["problems"] == []
        assert each["gold"] == each["buyers"] * 10**9
        assert each["items"] == each["crafted"] + 1  # the crown, too
        assert each["longest_s"] >= (each["mean_wait_s"] or 0.0) >= 0
        # Buyers wait for a lock; only WATCH repeats a transaction.
        assert each["retries"] == 0 or each["guard"] == "watch"
    return bool(
        all(each["listed"] for each in runs)
        and sum(each["bought"] for each in runs)
        and sum(each["retries"] for each in runs)
    )


def is_chat(found: Figures) -> bool:
    """Return whether phones were offline and processes were killed; check the deliveries."""
    assert (found["clients"], found["processes"], found["seed"]) == (12, 2, 5)
    for row in (found["mailboxes"], found["chats"]):
        assert row["written"] == row["to_write"] > 0
        assert row["delivered"] == row["to_deliver"] > 0
    return bool(
        found["tunnels"]
        and found["kills"] >= 2
        and 0 < found["wait_median_s"] <= found["wait_most_s"]
    )


def is_logs(found: Figures) -> bool:
    """Check that a counter was killed while it held a log, and that others count the rest."""
    assert found["seed"] == 5
    assert found["lines"] == {"2011-10-10": 99_900}
    assert found["rejected"] == 100
    assert found["killed_at"] >= 100_000 / 8
    reports = found["counters"]
    assert list(reports) == ["geo-1", "geo-2", "geo-3", "geo-4"]
    assert reports.pop(found["consumer_killed"]) is None
    assert 0 < sum(each["lines"] for each in reports.values()) <= 100_000
    assert sum(each["files"] for each in reports.values()) <= 4
    return bool(found["countries"][0]["value"] == "US")


def is_sale(found: Figures) -> bool:
    """Return whether there were reads; check that the cache is used in the second part only."""
    plain, cached = found["parts"]
    assert plain["failed"] == {}
    assert (plain["cached"], cached["cached"]) == (False, True)
    return bool(plain["reads_per_s"] and cached["reads_per_s"] and cached["mean_age_s"])


def is_traffic(found: Figures) -> bool:
    """Return whether there were hits, searches and mails."""
    assert found["seed"] == 5
    return bool(sum(found["hits"].values()) and found["searches"] and found["mails"])


def is_reports(found: Figures) -> bool:
    """Return whether reports were rendered, although the worker was killed."""
    assert found["workers_replaced"] >= 1
    return bool(found["reports"] and found["events"])


class Run(NamedTuple):
    """A run of a demo; it is repeated with more time if a busy machine did too little."""

    kind: type[Demo]
    options: dict[str, Any]
    seconds: tuple[float, ...]
    holds: Callable[[Figures], bool]
    shows: str = ""


RUNS = {
    "market": Run(MarketDemo, {"url": "{url}"}, (0.2, 1.0, 5.0), is_market),
    "chat": Run(ChatDemo, {"clients": 12, "seed": 5}, (5.0, 20.0), is_chat, " of 12 phones away"),
    "logs": Run(
        LogsDemo, {"days": 1, "lines": 100_000, "seed": 5}, (), is_logs, "100,000 lines counted"
    ),
    "reports": Run(ReportsDemo, {"seed": 5}, (3.0, 20.0), is_reports, " events followed"),
    "sale": Run(
        SaleDemo,
        {"readers": 2, "url": "{url}", "database": "sqlite:///{folder}/shop.db"},
        (0.3, 1.0, 10.0),
        is_sale,
        "50 items in sqlite",
    ),
    "traffic": Run(TrafficDemo, {"players": 4, "seed": 5}, (1.0, 10.0), is_traffic, " mails, "),
}


@pytest.mark.timeout(240)
@pytest.mark.parametrize(
    "name",
    [pytest.param(each, marks=pytest.mark.long if each == "sale" else []) for each in RUNS],
)
def test_a_demo_in_figures(
    name: str,
    standalone: Server,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Run each demo: it keeps all promises, and leaves a server of the user as it was."""
    kind, options, seconds, holds, shows = RUNS[name]
    monkeypatch.setattr("holdfast_demo.market.contest.ROUNDS", ROUNDS)
    monkeypatch.setattr(example("fakeshop/__init__.py").sale, "READER_PROCESSES", 1)
    options = {
        option: value.format(url=standalone.url, folder=tmp_path) if type(value) is str else value
        for option, value in options.items()
    }
    with standalone.client() as client:
        before = {key for key in client.scan_iter("*") if b"ledger" not in key}
    for more in [{"seconds": each} for each in seconds] or [{}]:
        code = run(kind(**options, **more), as_json=True)
        printed = capsys.readouterr()
        assert code == 0, printed
        report = json.loads(printed.out)
        assert report["ok"]
        assert all(each["kept"] for each in report["promises"])
        assert "folder" not in report
        if holds(report):
            break
    else:
        pytest.fail(f"too little was done: {report}")
    assert shows in printed.err
    assert "\x1b" not in printed.err
    with standalone.client() as client:
        left = {key for key in client.scan_iter("*") if b"ledger" not in key} - before
        lasting = {key for key in left if client.pttl(key) == -1}
        assert all(key.endswith(b":{layout:%}:version") for key in lasting)  # all others expire


PIPED = {
    "traffic": ((*TRAFFIC, "1"), ("all 3 promises were kept", "--seed 5")),
    "chat": ((*CHAT, "2"), ("12 phones in 2 processes", "all 2 promises were kept", "--seed 5")),
    "sale": ((*SALE, "1", "--database", "sqlite:///{}/shop.db"), ("SELECTs", "promise was kept")),
    "market": (
        ("market", "--seconds", "0.1"),
        ("sellers × buyers", "5 × 1", "WATCH/MULTI/EXEC", "one lock", "a lock per item"),
    ),
    "mail": (("mail", "--count", "20"), ("4 promises were kept", "--embedded FOLDER")),
}


@pytest.mark.parametrize(
    "name",
    # The others run above, too, with another report.
    [each if each == "traffic" else pytest.param(each, marks=pytest.mark.long) for each in PIPED],
)
def test_the_report_in_a_pipe(name: str, tmp_path: Path) -> None:
    """Print lines without control codes, at most 80 columns, with the verdict at the end."""
    args, shown = PIPED[name]
    done = holdfast("demo", *(arg.format(tmp_path) for arg in args))
    assert done.returncode == 0, done.stdout + done.stderr
    assert "\x1b" not in done.stdout
    assert max(map(len, done.stdout.splitlines())) <= 80
    assert "…" not in done.stdout
    for text in shown:
        assert text in done.stdout
    assert "✗" not in done.stdout


SCREENS = {
    "chat": (
        ("chat", "--clients", "12", "--seconds", "60"),
        "have it",
        ("written", "group chats", "has signal", "in a tunnel", "process killed"),
    ),
    "logs": (
        ("logs", "--days", "6", "--lines", "100000", "--seed", "5"),
        "counts",
        ("sent", "counted", "memory", "geo-4"),
    ),
    "market": (("market", "--seconds", "20"), "WATCH/MULTI/EXEC", ("rounds",)),
    "traffic": (("traffic", "--seconds", "60"), "hits/s", ("/market", "members", "searches")),
    "mail": (("mail",), "mails/s", ("password reset", "ready", "refused", "kill -9 one")),
}


@pytest.mark.parametrize(
    "name",
    # The figures of the others are drawn in `test_report.py`.
    [
        each if each in ("traffic", "mail") else pytest.param(each, marks=pytest.mark.long)
        for each in SCREENS
    ],
)
def test_the_screen_on_a_terminal(name: str) -> None:
    """Show figures while it runs; Ctrl-C ends it with code 130."""
    args, wait_for, shown = SCREENS[name]
    code, picture = on_terminal("demo", *args, wait_for=wait_for, say=CTRL_C, NO_COLOR="1")
    assert code == 130, picture
    assert "stopped" in picture
    assert "Traceback" not in picture
    for text in shown:
        assert text in picture


Tampered = Callable[..., Result]


@pytest.fixture
def tampered(tmp_path: Path, room: Path, monkeypatch: pytest.MonkeyPatch) -> Tampered:
    """Run a demo with a changed copy of the examples."""
    monkeypatch.setattr("tempfile.tempdir", str(room))

    def run(file: str, changes: list[tuple[str, str]], *args: str) -> Result:
        examples = tmp_path / "examples"
        if not examples.exists():
            source = next(folder for folder in FOLDERS if folder.exists())
            shutil.copytree(source, examples, ignore=shutil.ignore_patterns("__pycache__"))
            for name, old, new in [FEW_LINES, IMPATIENT, *((file, *change) for change in changes)]:
                text = (examples / name).read_text()
                assert old in text
                (examples / name).write_text(text.replace(old, new))
        for name in [name for name in sys.modules if name.partition(".")[0] == "fakegarage"]:
            monkeypatch.delitem(sys.modules, name)
        monkeypatch.setattr("holdfast_demo.example_files.FOLDERS", (examples,))
        return CliRunner(env={"COLUMNS": "120"}).invoke(app, ["demo", *args])

    return run


class Mistake(NamedTuple):
    """Describe what is replaced in an example, and what the demo reports then.

    With several *seconds* the run is repeated until a busy machine has done enough.
    """

    file: str
    changes: list[tuple[str, str]]
    args: tuple[str, ...]
    message: str
    seconds: tuple[str, ...] = ()
    round: MarketRound | None = None


FEW_LINES = ("logs.py", "part = (lines + number)", "part = (lines // 5 + number)")
IMPATIENT = ("fakegarage/garage.py", "STALL_S = 15.0", "STALL_S = 3.0")
"""What is lost will not come, however long one waits."""

LAST_OFFER = (
    "self.redis.hrandfield(self.offers)",
    "max(self.redis.hkeys(self.offers), default=None)",
)
NO_LOCK = ("lock_all(names, ", "lock_all([name + secrets.token_hex(4) for name in names], ")
MARKET = ("market", "--seconds")
SHORT = ("0.2", "1", "5", "20")

MISTAKES = {
    "traffic: a mail that was refused is sent": Mistake(
        "guild.py",
        [
            (
                "raise NoSuchMate(self.name, to)",
                "self.hf.mailbox(to).send(1, sender=sender); raise NoSuchMate(self.name, to)",
            )
        ],
        TRAFFIC,
        "was sent",
        ("2", "15"),
    ),
    "traffic: a player does not leave": Mistake(
        "guild.py",
        [("return self._names.remove(player) > 0", "return True")],
        TRAFFIC,
        "does not find exactly the members",
        ("2", "15"),
    ),
    "traffic: a player fails": Mistake(
        "guild.py",
        [("return [match.name", "raise RuntimeError('Help!'); return [match.name")],
        TRAFFIC,
        "Help!",
        ("1",),
    ),
    "logs: a line counts twice": Mistake(
        "logs.py",
        [
            (
                '(inside / f"{realm}.log").write_text(',
                ('(inside / f"{realm}.copy").write_text("1.1.1.1 2011-10-10 x\\n")\n'
                '            (inside / f"{realm}.log").write_text('),
            )
        ],
        LOGS,
        "the tally says 19,984, a direct count 19,980",
    ),
    "logs: a counter fails": Mistake(
        "logs.py",
        [("geoname_id,country_iso_code,", "geoname_id,country,")],
        LOGS,
        "ended with status 1",
    ),
    "chat: a phone fails": Mistake(
        "fakegarage/phone.py",
        [("match act.kind:", 'raise RuntimeError("Help!")\n        match act.kind:')],
        (*CHAT, "4"),
        "RuntimeError: Help!",
    ),
    "chat: a message is sent under a new name": Mistake(
        "fakegarage/phone.py",
        [
            ("op_id=act.id)", "op_id=f'{act.id}/{time.time()}')"),
            (
                "seq = await self._do(act)",
                "await self._do(act)\n                seq = await self._do(act)",
            ),
        ],
        (*CHAT, "5"),
        "their numbers are not 1 to",
    ),
    "market: gold is not paid": Mistake(
        "market.py",
        [('("DECRBY", purse, price),', "")],
        MARKET,
        "gold, now there are",
        SHORT,
        MarketRound("watch", 1, 1),
    ),
    "market: an item stays on offer": Mistake(
        "market.py",
        [('("HDEL", self.offers, item),', "")],
        MARKET,
        "are there twice: ",
        SHORT,
        MarketRound("market_lock", 1, 1),
    ),
    "market: an item vanishes": Mistake(
        "market.py",
        [('("SADD", self.bag(buyer), item),', "")],
        MARKET,
        "vanished: ",
        SHORT,
        MarketRound("item_locks", 1, 1),
    ),
    "market: a lock does not lock": Mistake(
        "market.py", [LAST_OFFER, NO_LOCK], MARKET, "1 × 3, one lock: ", SHORT,
        MarketRound("market_lock", 1, 3),
    ),
    "market: a trader fails": Mistake(
        "market.py",
        [("return Outcome.BOUGHT, [", 'raise RuntimeError("Help!"); _ = [')],
        MARKET,
        "RuntimeError: Help!",
        SHORT,
        MarketRound("watch", 1, 1),
    ),
}  # fmt: skip


REPEATED = {
    "logs: a counter fails",
    "logs: a line counts twice",
    "chat: a message is sent under a new name",
    "market: an item stays on offer",
    "market: an item vanishes",
    "market: a lock does not lock",
}
"""These are found as others above are; `test_invariants.py` has the check of each."""


@pytest.mark.timeout(240)
@pytest.mark.parametrize(
    "what",
    [pytest.param(each, marks=pytest.mark.long) if each in REPEATED else each for each in MISTAKES],
)
def test_a_mistake_is_found(
    what: str, tampered: Tampered, standalone: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Exit with code 1, and name the problem."""
    mistake = MISTAKES[what]
    if mistake.round:
        monkeypatch.setattr("holdfast_demo.market.contest.ROUNDS", (mistake.round,))
    if what.startswith("logs"):
        monkeypatch.setattr("holdfast_demo.logs.tallying.NAMES", ("geo-1", "geo-2"))
    url = ("--url", standalone.url) if mistake.args[0] == "market" else ()
    for seconds in mistake.seconds or ("",):
        args = [*mistake.args, *filter(None, [seconds]), *url]
        result = tampered(mistake.file, mistake.changes, *args)
        if result.exit_code and mistake.message in result.output:
            break
    assert result.exit_code == 1, result.output
    assert mistake.message in result.output
    assert "were kept" not in result.output


@pytest.mark.long
def test_traders_with_a_lock_want_the_same(
    tampered: Tampered, standalone: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Find nothing without the mistake above."""
    monkeypatch.setattr("holdfast_demo.market.contest.ROUNDS", (MarketRound("market_lock", 1, 3),))
    result = tampered("market.py", [LAST_OFFER], *MARKET, "0.2", "--url", standalone.url)
    assert result.exit_code == 0, result.output


def test_the_evidence_of_a_lost_message_is_kept(tampered: Tampered) -> None:
    """Exit with code 1, and name the phone, the message and the journal."""
    changes = [("in batch.messages:", "in batch.messages[1:]:")]
    result = tampered("fakegarage/phone.py", changes, *CHAT, "3", "--json")
    assert result.exit_code == 1, result.output
    report = json.loads(result.stdout)
    problems = [problem for each in report["promises"] for problem in each["problems"]]
    assert any("does not have number" in problem for problem in problems), report
    assert list(Path(report["folder"]).glob("phones/*.jsonl"))


ORPHANS = {
    "chat": ("chat", "--clients", "12", "--seconds", "30", "--seed", "4"),
    "logs": ("logs", "--days", "6", "--lines", "100000", "--seed", "5"),
    "market": ("market", "--seconds", "2"),
    "mail": ("mail",),
}


@pytest.mark.parametrize(
    ("name", "number"),
    [
        *((name, signal.SIGKILL) for name in ("market", "mail")),
        *(pytest.param(name, signal.SIGKILL, marks=pytest.mark.long) for name in ("chat", "logs")),
        *(pytest.param(name, signal.SIGTERM, marks=pytest.mark.long) for name in ORPHANS),
    ],
)
def test_no_process_outlives_the_demo(
    name: str, number: signal.Signals, standalone: Server, room: Path
) -> None:
    """End the processes when their input ends, even if the demo was killed."""
    url = ("--url", standalone.url) if name in ("market", "mail") else ()
    argv, env = ("-m", "holdfast", "demo", *ORPHANS[name], *url), {"TMPDIR": str(room)}
    with Process.python(*argv, name="demo", env=env) as demo:
        left = eventually(lambda: children(demo.pid), PATIENCE_S, reason="it has begun")
        os.kill(demo.pid, number)
        code = demo.wait(PATIENCE_S)
        assert code == (130 if number == signal.SIGTERM else -number)
        eventually(lambda: not any(map(lives, left)), PATIENCE_S, reason="no process is left")


def children(demo: int) -> list[int]:
    lines = subprocess.run(
        ["ps", "-A", "-ww", "-o", "pid=,ppid=,args="], capture_output=True, text=True, check=True
    ).stdout.splitlines()
    processes = [line.split(None, 2) for line in lines]
    names = ("holdfast_demo.", "fakegarage.phones")
    return [
        int(pid)
        for pid, parent, args in processes
        if int(parent) == demo and any(name in args for name in names)
    ]


def lives(pid: int) -> bool:
    done = subprocess.run(
        ["ps", "-o", "stat=", "-p", str(pid)], capture_output=True, text=True, check=False
    )
    return done.stdout.strip()[:1] not in ("", "Z")


REFUSED = {
    "no server": (("market", "--url", "redis://127.0.0.1:1"), 1, "cannot use redis://127.0.0.1:1"),
    "a cluster": (
        ("market", "--url", "redis+cluster://127.0.0.1:1"),
        2,
        "the market needs one server",
    ),
    "two servers": (
        ("market", "--url", "redis://127.0.0.1:1", "--embedded", "data"),
        2,
        "name two servers",
    ),
    "no URL": (("mail", "--url", "localhost"), 2, "is no URL of a server"),
    "no SMTP server": (("mail", "--smtp", "127.0.0.1:1"), 2, "127.0.0.1:1 does not answer"),
    "no event": (("mail", "--events", "{}/events"), 2, "line 1 is not a market event"),
    "an unknown database": (("sale", "--database", "nosuchdb://x"), 2, "cannot be used"),
    "a missing database": (("sale", "--database", "sqlite:////no/such.db"), 2, "cannot be used"),
    "no database": (("sale", "--database", "nonsense"), 2, "the database cannot be used"),
    "an option in front": (("--check", "mail"), 2, "options come after the command"),
}


@pytest.mark.parametrize("what", REFUSED)
def test_what_cannot_be_used_is_refused(what: str, tmp_path: Path) -> None:
    """Print a sentence, without a traceback."""
    args, code, message = REFUSED[what]
    (tmp_path / "events").write_text('{"event": "stolen", "id": 1}\n')
    runner = CliRunner(env={"COLUMNS": "120"})
    done = runner.invoke(app, ["demo", *(arg.format(tmp_path) for arg in args)])
    assert done.exit_code == code, done.output
    assert isinstance(done.exception, SystemExit)
    assert message in done.stderr


@pytest.mark.long
def test_a_folder_keeps_nothing_of_the_market(tmp_path: Path) -> None:
    """Leave no key, not even of the locks."""
    done = holdfast("demo", "market", "--seconds", "0.1", "--embedded", str(tmp_path / "data"))
    assert done.returncode == 0, done.stdout + done.stderr
    with (
        EmbeddedServer.open(tmp_path / "data") as server,
        redis.Redis.from_url(server.url) as client,
    ):
        assert client.dbsize() == 0
