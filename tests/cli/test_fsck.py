"""`holdfast fsck`: what it prints, and its exit codes."""

from __future__ import annotations

from cli.filled_queue import HOSTILE, VISIBLE, Run, rows
from conftest import Site
from holdfast import Holdfast


def test_a_sound_namespace(filled: Holdfast, run: Run, home: Site) -> None:
    """Print one line for people, and nothing for scripts."""
    result = run("fsck")
    assert (result.exit_code, result.stderr) == (0, "")
    assert result.stdout.startswith(f"namespace {home.namespace}, layout version 1: ")
    assert result.stdout.endswith(" units: all consistent\n")
    assert run("fsck", "--json").stdout == ""


def test_damages_are_reported(hf: Holdfast, run: Run, home: Site) -> None:
    """Print unit, problem and key; the exit code is that of the worst."""
    home.client.set(f"{home.namespace}:{HOSTILE}", "x")
    strange = run("fsck")
    assert strange.exit_code == 5
    assert f"warning no key of Holdfast has this name; it holds a string\n  {home.namespace}:" in (
        strange.stdout
    )
    assert VISIBLE in strange.stdout
    hf.mailbox("jack").send("hi", sender="jill")
    home.client.delete(f"{home.namespace}:{{mailbox:jack}}:log")
    damaged = run("fsck")
    assert damaged.exit_code == 6
    assert (
        "error mailbox 'jack': messages from 1 on are missing: the log is empty" in damaged.stdout
    )
    assert damaged.stdout.endswith(": 1 error, 1 warning\n")
    found = rows(run("fsck", "--json"))
    assert [set(each) for each in found] == [{"level", "kind", "name", "key", "what"}] * 2


def test_a_warning_says_that_there_is_more(run: Run, home: Site) -> None:
    """Warn on standard error, so that scripts take it for no damage."""
    key = f"{home.namespace}:{{queue:q}}:due:h"
    home.client.zadd(key, {f"nobody-{n}": n for n in range(1001)})
    result = run("fsck", "--json")
    assert len(rows(result)) == 1000
    assert "these are the first 1,000; there is more" in result.stderr
