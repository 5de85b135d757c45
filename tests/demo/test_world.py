"""Test `holdfast demo`: all demos in one world, to look at and to be checked."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import httpx
import pytest

from cli.programs import CTRL_C, holdfast, on_terminal
from faults.processes import Process
from faults.waiting import eventually

PATIENCE_S = 90.0
LOOK_EVERY_S = 0.1
LINK = re.compile(r"http://localhost:\d+/\w+")
LOGIN = re.compile(r"(http://\S+/dashboard)/login#token=(\S+)")
PROMISED = {
    *("locks", "semaphore", "queue", "messages", "mailboxes", "autocomplete", "counters"),
    *("row cache", "shop", "files", "tallies", "every write", "progress"),
}

Page = dict[str, Any]

SCREENS: dict[str, Callable[[Page], object]] = {
    "overview": lambda page: sum(minute["done"] for minute in page["pace"]),
    "queues": lambda page: {queue["name"] for queue in page["queues"]} == {"email", "reports"},
    "queue?name=email": lambda page: sum(minute["done"] for minute in page["pace"]),
    "tasks?queue=email&state=delayed": lambda page: page["tasks"],
    "failures": lambda page: page["dead"] and page["groups"],
    "workers": lambda page: page["alive"] == 3,
    "locks": lambda page: page["held"],
    "semaphores": lambda page: page["semaphores"][0]["limit"] == 3,
    "mailboxes": lambda page: sum(box["status"]["unread"] for box in page["mailboxes"]),
    "chats": lambda page: sum(chat["kept"] for chat in page["chats"]),
    "counters": lambda page: sum(counter["total"] for counter in page["counters"]),
    "completions?name=guild:3": lambda page: page["matches"],
    "rows": lambda page: page["caches"][0]["status"]["scheduled"] == 50,
    "feeds": lambda page: sum(feed["status"]["bytes"] for feed in page["feeds"]),
    "tallies": lambda page: sum(page["tallies"][0]["days"].values()),
    "server": lambda page: page["servers"][0]["keys"],
}
"""What must be seen on each, sooner or later."""


@pytest.mark.long  # `test_runs.py` runs each part by itself
@pytest.mark.timeout(240)
def test_every_promise_is_kept(room: Path) -> None:
    """Kill one process of each kind, and the server: the exit code is 0."""
    demo = ["demo", "--seconds", "5", "--check", "--seed", "5", "--json"]
    done = holdfast(*demo, patience_s=200.0, TMPDIR=str(room))
    assert done.returncode == 0, done.stdout + done.stderr
    report = json.loads(done.stdout)
    assert report["ok"]
    assert {"server", "refresher", "worker-1", "mirror-1", "geo-1"} < set(report["killed"])
    assert {promise["block"] for promise in report["promises"]} == PROMISED
    assert all(promise["checked"] for promise in report["promises"])
    assert "\x1b" not in done.stderr
    assert left_in(room) == []


@pytest.mark.long  # the same parts as above, and the screens that tests/web/dashboard looks at
@pytest.mark.timeout(240)
def test_the_dashboard_shows_what_goes_on_until_it_is_stopped(room: Path) -> None:
    """Show data on each screen; leave nothing behind afterwards."""
    env = {"TMPDIR": str(room)}
    with Process.python("-m", "holdfast", "demo", "--seconds", "600", name="demo", env=env) as demo:
        eventually(lambda: LINK.search(demo.output), PATIENCE_S, reason="a link is printed")
        redirect = httpx.get(LINK.findall(demo.output)[0])
        where, token = LOGIN.findall(redirect.headers["location"])[0]
        with httpx.Client(headers={"Authorization": f"Bearer {token}"}, timeout=30.0) as client:
            for screen, shows in SCREENS.items():
                name, _, query = screen.partition("?")
                seen = partial(is_seen, client, f"{where}/{name}.json?{query}", shows)
                eventually(seen, PATIENCE_S, reason=f"{name} shows what goes on")
        processes = descendants(demo.pid)
        assert len(processes) > 10
        os.kill(demo.pid, signal.SIGINT)
        assert demo.wait(PATIENCE_S) == 130, demo.output
        assert "Traceback" not in demo.output
    eventually(lambda: not processes & alive(), PATIENCE_S, reason="no process is left")
    assert left_in(room) == []
    assert [line for line in ps("args=") if str(room) in line] == []


@pytest.mark.long
@pytest.mark.timeout(240)
def test_the_screen_on_a_terminal(room: Path) -> None:
    """Show a line for each part; Ctrl-C ends it with code 130."""
    code, shown = on_terminal("demo", wait_for="hits, ", say=CTRL_C, NO_COLOR="1", TMPDIR=str(room))
    assert code == 130, shown
    assert "Traceback" not in shown
    for part in ("shop", "market", "downloads", "traffic", "chat", "logs", "mail"):
        assert part in shown
    summary = shown.rpartition("ran for")[2]
    assert "mails sent" in summary
    assert "stopped" in summary


@pytest.mark.long
@pytest.mark.timeout(600)
@pytest.mark.parametrize("seed", range(3))
def test_every_promise_is_kept_for_a_minute(seed: int, room: Path) -> None:
    """Run it as in the README."""
    done = holdfast("demo", "--check", "--seed", str(seed), patience_s=400.0, TMPDIR=str(room))
    assert done.returncode == 0, done.stdout + done.stderr
    assert "promises were kept, after 8 kills" in done.stdout
    table = [line for line in done.stdout.splitlines() if line.endswith("✓")]
    assert 10 < max(map(len, table)) <= 80  # a link, and a list of kills, are longer
    assert left_in(room) == []


def is_seen(client: httpx.Client, url: str, shows: Callable[[Page], object]) -> bool:
    """Return whether a page shows it now, after the pause that a person would make."""
    time.sleep(LOOK_EVERY_S)
    answer = client.get(url)
    return answer.status_code == 200 and bool(shows(answer.json()))


def left_in(room: Path) -> list[Path]:
    """Return what is left, except the lock that all PostgreSQL servers of the package share."""
    return [path for path in room.iterdir() if path.name != ".lockfile"]


def descendants(pid: int) -> set[int]:
    """Return all processes that it has started, directly or not."""
    pairs = [tuple(map(int, line.split())) for line in ps("pid=,ppid=")]
    found = {pid}
    for _ in pairs:
        more = {child for child, parent in pairs if parent in found}
        if more <= found:
            break
        found |= more
    return found - {pid}


def alive() -> set[int]:
    """Return all processes that are not dead."""
    lines = [line.split() for line in ps("pid=,stat=")]
    return {int(pid) for pid, state in lines if not state.startswith("Z")}


def ps(columns: str) -> list[str]:
    done = subprocess.run(
        ["ps", "-A", "-o", columns, "-ww"], capture_output=True, text=True, check=True
    )
    return done.stdout.splitlines()
