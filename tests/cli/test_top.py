"""Test `holdfast top`: one snapshot for scripts, and the live screen of a terminal."""

from __future__ import annotations

import io
import json
import os
import secrets
import signal
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from typer.testing import CliRunner

from cli.filled_queue import HOSTILE, VISIBLE, Run, filled_queue, rows
from cli.programs import CTRL_C, Terminal
from faults.processes import Process
from faults.servers import Server
from faults.waiting import eventually
from holdfast import Holdfast, Lease
from holdfast.cli.app import app


@contextmanager
def busy(hf: Holdfast) -> Iterator[None]:
    """Create one of everything with a hostile name, and tasks in a queue `crowd`."""
    hf.mailbox(HOSTILE).send("x", sender="jill")
    hf.create_chat(["jill", HOSTILE], sender="jill", body="x", chat_id="827")
    hf.row_cache(HOSTILE).schedule("42", every=5.0)
    hf.file_feed(HOSTILE, consumers=["geo"]).publish(io.BytesIO(b"line\n"), name=HOSTILE)
    leases: list[Lease] = [hf.lock(HOSTILE).acquire(), hf.semaphore("api", limit=2).acquire()]
    with filled_queue(hf):
        # A client that could not register a lock tries again after a minute.
        eventually(lambda: hf.locks() and hf.semaphores() and hf.workers(), 90)
        hf.counter(HOSTILE).add(7)  # so it is in the last minute, however long the others took
        yield
    for lease in leases:
        lease.release()


def test_one_snapshot(hf: Holdfast, run: Run) -> None:
    """Print everything as text for people; no name is read as markup."""
    with busy(hf):
        result = run("top", "--once")
        piped = run("top")
    assert (piped.exit_code, "crowd " in piped.stdout) == (0, True)  # it does not go on
    assert result.exit_code == 0, result.output
    assert result.stdout.replace("\n", "").isprintable()
    assert result.stdout.startswith(f"{hf.namespace}   redis")
    lines = result.stdout.splitlines()
    assert any(" primary" in line and " ops/s " in line for line in lines)
    assert any(line.startswith("tasks: 3 ready, 1 running, 1 delayed, 2 dead, ") for line in lines)
    words = [line.split() for line in lines]
    assert ["crowd", "3", "1", "2"] in [each[:4] for each in words]
    assert ["827", "1", "chat"] in [each[:3] for each in words]
    assert ["api", "1/2"] in [each[:2] for each in words]
    assert [VISIBLE, "1/1"] in [each[:2] for each in words]
    assert sum(line.startswith(VISIBLE) for line in lines) == 5


def test_one_snapshot_for_scripts(hf: Holdfast, run: Run) -> None:
    """Print everything, with unchanged names."""
    with busy(hf):
        [frame] = rows(run("top", "--once", "--json"))
    assert (frame["namespace"], frame["problem"]) == (hf.namespace, None)
    assert frame["tasks"].pop("per_second") >= 0
    assert frame["tasks"] == {"ready": 3, "running": 1, "delayed": 1, "dead": 2}
    [queue] = frame["queues"]
    assert (queue["queue"], queue["ready"], queue["dead"], queue["workers"]) == ("crowd", 3, 2, 1)
    assert queue["oldest"] > 0
    [worker] = frame["workers"]
    assert (worker["alive"], worker["queues"], worker["concurrency"]) == (True, {"crowd": 1}, 1)
    places = {place["name"]: place for place in frame["locks"]}
    assert (places["api"]["kind"], places["api"]["limit"]) == ("semaphore", 2)
    assert (places[HOSTILE]["kind"], places[HOSTILE]["held"]) == ("lock", 1)
    assert 0 < places[HOSTILE]["remaining"] <= 10
    unread = {each["kind"]: each for each in frame["unread"]}
    assert (unread["mailbox"]["name"], unread["mailbox"]["unread"]) == (HOSTILE, 1)
    assert (unread["chat"]["name"], unread["chat"]["reader"]) == ("827", HOSTILE)
    [counter] = frame["counters"]
    assert (counter["counter"], counter["total"], sum(counter["values"])) == (HOSTILE, 7, 7)
    [cache] = frame["row_caches"]
    assert (cache["cache"], cache["scheduled"]) == (HOSTILE, 1)
    [feed] = frame["feeds"]
    assert (feed["name"], feed["left"], feed["holders"]) == (HOSTILE, 1, ["geo"])
    assert frame["known"]["queue"] == frame["known"]["counter"] == 1


def test_a_snapshot_of_an_empty_namespace(hf: Holdfast, run: Run) -> None:
    """Print the server all the same."""
    result = run("top", "--once")
    assert (result.exit_code, "tasks: 0 ready" in result.stdout) == (0, True)
    assert "queues" not in result.stdout


def test_a_server_that_is_away() -> None:
    """Exit with code 1 if a single snapshot fails."""
    result = CliRunner().invoke(app, ["top", "--once", "--url", "redis://localhost:1"])
    assert (result.exit_code, result.stdout) == (1, "")
    assert "cannot use redis://localhost:1" in result.stderr


def streaming(server: Server) -> Process:
    """Return a program that prints a snapshot on each line."""
    args = ("top", "--json", "--every", "0.2", "--url", server.url)
    return Process.python("-m", "holdfast", *args, name="top")


def test_snapshots_for_scripts_until_ctrl_c(standalone: Server) -> None:
    """Print an object on each line at once; exit with 0 after Ctrl-C."""
    with streaming(standalone) as program:
        eventually(lambda: program.output.count("\n") >= 2)
        os.kill(program.pid, signal.SIGINT)
        assert program.wait(60) == 0
        first, second, *_ = map(json.loads, program.output.splitlines())
        assert first["at"] < second["at"]


@pytest.fixture
def lonely() -> Iterator[Server]:
    """Yield a server that the test may kill."""
    with Server() as server:
        yield server


def test_snapshots_for_scripts_report_an_outage(lonely: Server) -> None:
    """Print the problem as an object, and go on."""
    lonely.stop()
    with streaming(lonely) as program:
        eventually(lambda: '"problem": "cannot use redis://' in program.output)
        lonely.start()
        eventually(lambda: '"problem": null' in program.output)
        program.terminate()
        assert program.wait(60) == 0


LEFT = "\x1b[?1049l"
"""The screen that was there before is shown again."""


def test_the_screen(standalone: Server) -> None:
    """Change the view by keys; restore the terminal at the end."""
    with (
        Holdfast.from_url(standalone.url, namespace="screen") as hf,
        filled_queue(hf),
        Terminal("top", "--url", standalone.url, "--namespace", "screen") as terminal,
    ):
        hf.mailbox(HOSTILE).send("x", sender="jill")
        terminal.expect("\x1b[7m 1 all ")
        terminal.expect("crowd ")
        terminal.say("\t")
        terminal.expect("\x1b[7m 2 tasks ")
        terminal.say("4")
        terminal.expect(VISIBLE)
        terminal.expect("\x1b[7m 4 messages ")
        terminal.say("3")
        terminal.expect("\x1b[7m 3 locks ")
        terminal.say("p")
        terminal.expect("paused")
        terminal.resize(10, 40)
        terminal.expect("\x1b[7m 3 locks ")
        terminal.say("p\x1aq")  # Ctrl-Z is no good end
        assert terminal.code() == 0
        assert LEFT in terminal.shown
        assert terminal.is_as_before


@pytest.mark.parametrize("number", [None, signal.SIGTERM, signal.SIGHUP])
def test_the_screen_is_left_by_a_signal(standalone: Server, number: signal.Signals | None) -> None:
    """Restore the terminal, and exit with code 0."""
    where = ("--url", standalone.url, "--namespace", secrets.token_hex(4))
    with Terminal("top", *where) as terminal:
        terminal.expect("nothing in use in this namespace")
        if number is None:
            terminal.say(CTRL_C)
        else:
            terminal.signal(number)
        assert terminal.code() == 0
        assert LEFT in terminal.shown
        assert terminal.is_as_before


def test_the_screen_goes_on_after_an_outage(lonely: Server) -> None:
    """Show the problem above the last snapshot while the server is away."""
    with Terminal("top", "--url", lonely.url, "--every", "0.2", columns=200) as terminal:
        terminal.expect("nothing in use in this namespace")
        lonely.kill()
        terminal.expect("cannot use redis://")
        terminal.expect("nothing in use in this namespace")
        lonely.start()
        with lonely.client() as client:
            client.ping()
        with Holdfast.from_url(lonely.url) as hf:
            hf.queue("back").pause()
        terminal.expect("back ")
        terminal.say("q")
        assert terminal.code() == 0
