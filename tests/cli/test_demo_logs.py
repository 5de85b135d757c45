"""`holdfast demo logs` as a user runs it: one who counts is killed, and each line counts once."""

from __future__ import annotations

import json
import subprocess
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
from holdfast import Count
from holdfast.cli.app import app
from holdfast.cli.demo.examples import example_file
from holdfast.cli.demo.logs.picture import drawn
from holdfast.cli.demo.logs.report import Report
from holdfast.cli.demo.logs.summary import print_summary

EXAMPLE = example_file("logs.py")
SMALL = ("demo", "logs", "--days", "1", "--lines", "100000", "--seed", "5")
LONGER = ("demo", "logs", "--days", "6", "--lines", "100000", "--seed", "5")
"""It does not end before who looks on has done something."""

PATIENCE_S = 60.0


def test_each_line_counts_once_in_figures() -> None:
    """One is killed while it holds a log, and others count the rest: exit code 0."""
    done = holdfast(*SMALL, "--json")
    assert done.returncode == 0, done.stdout + done.stderr
    report = json.loads(done.stdout)
    assert (report["ok"], report["problems"], report["seed"]) == (True, [], 5)
    assert report["lines"] == {"2011-10-10": 99_900}
    assert report["rejected"] == 100
    assert report["killed_at"] >= 100_000 / 8
    told = report["counters"]
    assert list(told) == ["geo-1", "geo-2", "geo-3", "geo-4"]
    assert told.pop(report["killed"]) is None
    assert 0 < sum(each["lines"] for each in told.values()) <= 100_000
    assert sum(each["files"] for each in told.values()) <= 4
    assert report["countries"][0]["value"] == "US"
    assert "100,000 lines counted" in done.stderr
    assert "\x1b" not in done.stderr


def test_the_screen_on_a_terminal() -> None:
    """What it shows while it runs, and that Ctrl-C ends it in good order."""
    code, shown = on_terminal(*LONGER, wait_for="counts", say=CTRL_C, NO_COLOR="1")
    assert code == 130, shown
    assert "stopped" in shown
    assert "Traceback" not in shown
    for text in ("sent", "counted", "memory", "geo-4"):
        assert text in shown


Tampered = Callable[..., Result]


@pytest.fixture
def tampered(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Tampered:
    """Run the demo with an example in which something was replaced."""

    def run(old: str, new: str) -> Result:
        text = EXAMPLE.read_text()
        assert old in text
        (tmp_path / "logs.py").write_text(text.replace(old, new))
        monkeypatch.setattr(
            "holdfast.cli.demo.examples.example_file", lambda name: tmp_path / "logs.py"
        )
        monkeypatch.setattr("holdfast.cli.demo.logs.counting.NAMES", ("geo-1", "geo-2"))
        return CliRunner(env={"COLUMNS": "120"}).invoke(app, SMALL)

    return run


def test_lines_that_count_twice_are_found_out(tampered: Tampered) -> None:
    """Here a log that was sent under two names, and of which the direct count knows one."""
    result = tampered(
        '(inside / f"{realm}.log").write_text(',
        '(inside / f"{realm}.copy").write_text("1.1.1.1 2011-10-10 x\\n")\n'
        '            (inside / f"{realm}.log").write_text(',
    )
    assert result.exit_code == 1, result.output
    assert "✗" in result.output
    assert "the tally says 99,904, a direct count 99,900" in result.output
    assert "each counted once" not in result.output


def test_one_who_fails_ends_the_demo(tampered: Tampered) -> None:
    """With what it had to say."""
    result = tampered("geoname_id,country_iso_code,", "geoname_id,country,")
    assert result.exit_code == 1
    assert "ended with status 1" in result.output
    assert "country_iso_code" in result.output


@pytest.mark.long  # they are on the same leash as the workers of the mails
def test_those_who_count_do_not_outlive_it() -> None:
    """Not even if it is killed: their input ends, and so do they."""
    with Process.python("-m", "holdfast", *LONGER, name="demo") as demo:
        left = eventually(lambda: children(demo.pid), PATIENCE_S, reason="it has begun")
        demo.kill()
        eventually(lambda: not any(map(lives, left)), PATIENCE_S, reason="nobody is left")


def children(demo: int) -> list[int]:
    lines = subprocess.run(
        ["ps", "-A", "-ww", "-o", "pid=,ppid=,args="], capture_output=True, text=True, check=True
    ).stdout.splitlines()
    processes = [line.split(None, 2) for line in lines]
    return [int(pid) for pid, parent, args in processes if int(parent) == demo and "leash" in args]


def lives(pid: int) -> bool:
    done = subprocess.run(
        ["ps", "-o", "stat=", "-p", str(pid)], capture_output=True, text=True, check=False
    )
    return done.stdout.strip()[:1] not in ("", "Z")


# The pieces


@pytest.mark.parametrize("problems", [(), tuple(map(str, range(9)))])
def test_the_summary(problems: tuple[str, ...], capsys: pytest.CaptureFixture[str]) -> None:
    """In eighty columns; the verdict and the seed are at the end."""
    told = {"files": 7, "lines": 1_234_567, "bytes": 2**26, "commits": 11}
    counters = {"geo-1": told, "geo-2": None}
    best = [Count("US", 1_000_000), Count("DE", 300_000)]
    print_summary(
        Report(
            5, {"2011-10-10": 1_399_860}, 140, 2**26, 9.9, "geo-2", 70_000, counters, best, problems
        )
    )
    shown = capsys.readouterr().out
    assert "\x1b" not in shown
    assert max(map(len, shown.splitlines())) <= 80
    assert "geo-2     killed" in shown
    assert ("✓ 1,399,860 lines of 1 day, each counted once" in shown) is (not problems)
    assert ("✗ 9 counts are not as they must be" in shown) is bool(problems)
    assert shown.endswith("The same days again: --seed 5\n")


def test_the_screen_says_who_was_killed() -> None:
    """In eighty columns."""
    consumers = [SimpleNamespace(name=name, files=2, bytes=2**21) for name in ("geo-1", "geo-2")]
    scene = SimpleNamespace(
        sent=2**22, size=2**23, counted=70_000, lines=140_000, used=2**20, consumers=consumers,
        counters=SimpleNamespace(killed="geo-2"), days={"2011-10-10": 70_000},
        best=[Count("US", 40_000), Count("DE", 30_000)],
    )  # fmt: skip
    text = StringIO()
    Console(file=text, width=80).print(drawn(scene))
    shown = text.getvalue()
    assert shown.count("● counts") == shown.count("× killed") == 1
    assert "57.1%" in shown
    assert max(map(len, shown.splitlines())) <= 80
