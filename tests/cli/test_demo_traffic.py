"""`holdfast demo traffic` as a user runs it: every hit counts, and only members get mail."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result
from typer.testing import CliRunner

from cli.programs import CTRL_C, holdfast, on_terminal
from holdfast.cli.app import app
from holdfast.cli.demo.examples import example_file
from holdfast.cli.demo.traffic.names import everybody, starting

EXAMPLE = example_file("guild.py")
SMALL = ("demo", "traffic", "--players", "4", "--seconds", "1", "--seed", "5")


def test_all_is_as_it_must_be_in_figures() -> None:
    """Exit code 0."""
    for seconds in ("1", "10"):  # a busy machine may do nothing in a short time
        done = holdfast(*SMALL, "--seconds", seconds, "--json")
        assert done.returncode == 0, done.stdout + done.stderr
        report = json.loads(done.stdout)
        assert (report["ok"], report["problems"], report["seed"]) == (True, [], 5)
        if report["mails"] and report["searches"]:
            break
    assert sum(report["hits"].values()) > 0
    assert report["searches"] > 0
    assert report["mails"] > 0


def test_the_summary_in_a_pipe() -> None:
    """Lines without control codes, at most 80 columns; the verdict and the seed are at the end."""
    done = holdfast(*SMALL)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "\x1b" not in done.stdout
    assert max(map(len, done.stdout.splitlines())) <= 80
    assert "✓ all seven precisions have every hit" in done.stdout
    assert "✓ mail went to members only" in done.stdout
    assert done.stdout.rstrip().endswith("--seed 5")


def test_the_screen_on_a_terminal() -> None:
    """What it shows while it runs, and that Ctrl-C ends it in good order."""
    code, shown = on_terminal(
        "demo", "traffic", "--seconds", "60", wait_for="hits/s", say=CTRL_C, NO_COLOR="1"
    )
    assert code == 130, shown
    assert "stopped" in shown
    assert "Traceback" not in shown
    for text in ("/market", "members", "searches"):
        assert text in shown


Tampered = Callable[..., Result]


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ("if not self._names.has(to):", "if to == '':", "was written"),
        ("return self._names.remove(player) > 0", "return True", "finds others than the members"),
        ("return self._names.add(player)", "raise RuntimeError('Help!')", "Help!"),
    ],
    ids=["mail", "leave", "failure"],
)
def test_a_guild_with_a_mistake_is_found_out(
    old: str, new: str, told: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Exit code 1, and what is wrong."""
    text = EXAMPLE.read_text()
    assert old in text
    if told == "was written":  # sent although it was refused
        old, new = (
            "raise NoSuchMate(self.name, to)",
            ("self.hf.mailbox(to).send(1, sender=sender); raise NoSuchMate(self.name, to)"),
        )
    (tmp_path / "guild.py").write_text(text.replace(old, new))
    monkeypatch.setattr(
        "holdfast.cli.demo.examples.example_file", lambda name: tmp_path / "guild.py"
    )
    for seconds in ("4", "15"):  # a busy machine may do nothing in a short time
        args = [*SMALL, "--seconds", seconds]
        result = CliRunner(env={"COLUMNS": "120"}).invoke(app, args)
        if result.exit_code:
            break
    assert result.exit_code == 1, result.output
    assert told in result.output + str(result.exception)


def test_the_rule_for_names() -> None:
    """Of the demo's own, to compare with."""
    assert set(starting({"Carla Santos", "Émile 张", "O'Hara"}, "E")) == {"Émile 张"}
    assert set(starting({"Carla Santos", "Émile 张", "O'Hara"}, "ha")) == {"O'Hara"}
    assert len(everybody()) == len(set(everybody())) == 140
